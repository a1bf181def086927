// SPDX-License-Identifier: Apache-2.0
// The allocated blocks of a device, now and at the time of the highest level.
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

// A block, or several that were merged because they are small.
struct HeldBlock {
  TraceNs born = kBeforeRecording;
  TraceNs freed = kNeverFreed;
  int64_t bytes = 0;
  int64_t blocks = 1;
  int32_t site = -1;              // -1 = unknown
  schema::MemoryCategory said{};  // by the program
  schema::Marker born_in{};
  schema::Marker freed_in{};
  bool same_phase = false;  // freed in the very phase in which it was made
  bool in_op = false;       // freed before the outermost operator that made it had ended
  bool by_loader = false;   // allocated by a thread that loads data
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

// Follows allocations and frees. The level counts from the first event on; a block that is freed
// and was never seen allocated has been there from before: offset() is what was.
//
// The blocks at the highest level are known without a second pass: of those, the ones freed since
// are kept until a higher level comes. Memory O(live blocks).
class LiveBlocks {
 public:
  static constexpr int64_t kMostBytes = int64_t{1} << 48;

  // Rows with 0 <= bytes <= kMostBytes. An address of 0 = not recorded: only the level follows.
  void allocate(int64_t time_ns, int64_t address, int64_t bytes, int64_t thread,
                schema::MemoryCategory said, int64_t stack = 0);
  // Bytes of the block as it was counted, which may differ from what the free says.
  int64_t free(int64_t time_ns, int64_t address, int64_t bytes);
  // What lies at `address` holds `category`. A block that nobody saw allocated is from before.
  void name(int64_t address, int64_t bytes, schema::MemoryCategory category);
  // To be called after each event: `level` is what counts as the level, own or recorded.
  // Returns whether it is the highest so far.
  bool reached(int64_t level);

  [[nodiscard]] int64_t level() const { return level_; }    // counted, from 0
  [[nodiscard]] int64_t offset() const { return offset_; }  // add to every level
  [[nodiscard]] int64_t unmatched_frees() const { return unmatched_frees_; }
  [[nodiscard]] int64_t reused() const { return reused_; }
  [[nodiscard]] size_t live() const { return live_.size(); }

  // To be called at the end.
  [[nodiscard]] std::vector<LiveBlock> at_peak() const;
  [[nodiscard]] std::vector<LiveBlock> at_end() const;  // those made in the recording

 private:
  using Live = std::map<uint64_t, LiveBlock>;
  // Blocks that lie where one is handed out now were freed, and nobody saw it.
  void forget_overlapped(uint64_t begin, int64_t bytes, int64_t time_ns);
  void remember_free(LiveBlock block, int64_t time_ns);
  [[nodiscard]] Live::iterator holder_of(uint64_t address);

  Live live_;
  int64_t level_ = 0;
  int64_t offset_ = 0;
  int64_t next_serial_ = 0;
  std::optional<int64_t> peak_;
  int64_t peak_serial_ = 0;  // blocks with smaller ones had been allocated at the peak
  std::vector<LiveBlock> freed_since_peak_;
  int64_t unmatched_frees_ = 0;
  int64_t reused_ = 0;
};

}  // namespace dprof::analyzer
