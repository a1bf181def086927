// SPDX-License-Identifier: Apache-2.0
// Pairs the beginnings and ends of host ranges and writes them in start order per thread.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "collector/recorder/rows/trace_output.h"
#include "schema/marker_names.h"

namespace dprof::recorder {

struct OpenRange {
  int64_t id = 0;
  int64_t start_ns = 0;
  uint32_t domain = 0;  // arena id of the NVTX domain
  schema::RangeCategory category{};
  schema::Marker marker = schema::Marker::kNone;
  uint32_t name = 0;  // arena id
};

// The open ranges of one thread, innermost last.
struct RangeStack {
  std::vector<OpenRange> open;
  int64_t last_start_ns = INT64_MIN;
};

// Rows get their number when the range begins, wait in memory until the next flush, and are written
// in that order: ranges still open then are written with an open end and completed later. So a long
// range delays no others, and the rows of a thread are in start order.
//
// Threading  one thread.
// Cost       amortised O(1) per begin and end; an UPDATE for each range that spans a flush.
class RangeTable {
 public:
  // Both `open` lists are bounded: ranges that begin and never end (a bug in the program, or a
  // damaged ring) must not fill the recorder's memory. The outermost is dropped; it stays open.
  static constexpr size_t kMaxOpenPerThread = 4096;
  static constexpr size_t kMaxOpenKeyed = 65536;

  // A range that nests on its thread. `range` is complete except for its id; returns the id.
  int64_t begin(RangeStack& stack, int64_t thread_id, int64_t name_id, OpenRange range,
                std::optional<int64_t> sequence);
  // Closes the innermost open range of that category and domain.
  std::optional<OpenRange> end(RangeStack& stack, schema::RangeCategory category, uint32_t domain,
                               int64_t end_ns);

  // A row that is not put on a stack: an instant, or a range that open_keyed() registers by a key.
  int64_t add(RangeStack& stack, int64_t thread_id, int64_t name_id, schema::RangeCategory category,
              int64_t start_ns, std::optional<int64_t> sequence,
              std::optional<int64_t> duration_ns);
  // A complete row of a separate lane; only its number is assigned here.
  void add(schema::HostRangeRow row);
  // False if the key was open: its older range stays open for good.
  bool open_keyed(uint64_t key, const OpenRange& range);
  std::optional<OpenRange> end_keyed(uint64_t key, schema::RangeCategory category, int64_t end_ns);

  void flush(TraceOutput& output);

  [[nodiscard]] size_t pending() const { return pending_.size(); }
  [[nodiscard]] int64_t rows() const { return next_id_ - 1; }

 private:
  void close(const OpenRange& range, int64_t end_ns);

  struct Key {
    uint64_t key;
    schema::RangeCategory category;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return std::hash<uint64_t>()(key.key * 31 + static_cast<uint64_t>(key.category));
    }
  };
  struct Closed {
    int64_t id;
    int64_t duration_ns;
  };

  int64_t next_id_ = 1;
  int64_t first_pending_id_ = 1;
  std::vector<schema::HostRangeRow> pending_;  // ids first_pending_id_, +1, …
  std::vector<Closed> closed_;                 // written while open, closed since
  std::unordered_map<Key, OpenRange, KeyHash> keyed_;
};

}  // namespace dprof::recorder
