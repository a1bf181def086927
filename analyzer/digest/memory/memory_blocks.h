// SPDX-License-Identifier: Apache-2.0
// The allocated blocks of a device, now and at the peak.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "base/time.h"
#include "schema/generated/rows.h"
#include "schema/marker_names.h"

namespace dprof::analyzer {

// Markers that name a phase, kNone among them.
inline constexpr size_t kMemoryPhases = static_cast<size_t>(schema::Marker::kCheckpoint) + 1;

inline constexpr TraceNs kBeforeRecording{std::numeric_limits<int64_t>::min()};
inline constexpr TraceNs kNeverFreed{std::numeric_limits<int64_t>::max()};

// A block, or several small blocks merged.
struct HeldBlock {
  TraceNs born = kBeforeRecording;
  TraceNs freed = kNeverFreed;
  int64_t bytes = 0;
  int64_t blocks = 1;
  int32_t site = -1;              // -1 = unknown
  schema::MemoryCategory said{};  // as reported by the program
  schema::Marker born_in{};
  schema::Marker freed_in{};
  bool same_phase = false;  // freed in the phase in which it was made
  bool in_op = false;       // freed before the end of the outermost operator that made it
  bool by_loader = false;   // allocated by a data loading thread
};

struct LiveBlock {
  int64_t bytes = 0;
  int64_t serial = -1;  // in order of allocation; -1 = before the recording
  int64_t born_ns = std::numeric_limits<int64_t>::min();
  int64_t freed_ns = std::numeric_limits<int64_t>::max();
  int64_t thread = -1;
  int64_t stack = 0;  // 0 = unknown
  schema::MemoryCategory said{};
};

// Follows allocations and frees. The level counts from the first event on. A block freed without a
// recorded allocation existed before the recording: offset() is the level then.
//
// The blocks at the peak are known without a second pass: those freed since then are kept until a
// higher level is reached. Memory O(live blocks).
class LiveBlocks {
 public:
  static constexpr int64_t kMostBytes = int64_t{1} << 48;

  // Rows with 0 <= bytes <= kMostBytes. Address 0 = not recorded: only the level changes.
  void allocate(int64_t time_ns, int64_t address, int64_t bytes, int64_t thread,
                schema::MemoryCategory said, int64_t stack = 0);
  // Returns the block's bytes as counted, which can differ from those in the free's row.
  int64_t free(int64_t time_ns, int64_t address, int64_t bytes);
  // The block at `address` has `category`. Without a recorded allocation it is from before.
  void name(int64_t address, int64_t bytes, schema::MemoryCategory category);
  // Call after each event; `level` is the level to use, counted or recorded. Returns whether it is
  // the highest so far.
  bool reached(int64_t level);

  [[nodiscard]] int64_t level() const { return level_; }    // counted from 0
  [[nodiscard]] int64_t offset() const { return offset_; }  // add to every level
  [[nodiscard]] int64_t unmatched_frees() const { return unmatched_frees_; }
  [[nodiscard]] int64_t reused() const { return reused_; }
  [[nodiscard]] size_t live() const { return live_.size(); }

  // Call at the end.
  [[nodiscard]] std::vector<LiveBlock> at_peak() const;
  [[nodiscard]] std::vector<LiveBlock> at_end() const;  // blocks made in the recording

 private:
  using Live = std::map<uint64_t, LiveBlock>;
  // Blocks that overlap a newly allocated one were freed without a record.
  void forget_overlapped(uint64_t begin, int64_t bytes, int64_t time_ns);
  void remember_free(LiveBlock block, int64_t time_ns);
  [[nodiscard]] Live::iterator holder_of(uint64_t address);

  Live live_;
  int64_t level_ = 0;
  int64_t offset_ = 0;
  int64_t next_serial_ = 0;
  std::optional<int64_t> peak_;
  int64_t peak_serial_ = 0;  // smaller serials had been allocated by the peak
  std::vector<LiveBlock> freed_since_peak_;
  int64_t unmatched_frees_ = 0;
  int64_t reused_ = 0;
};

}  // namespace dprof::analyzer
