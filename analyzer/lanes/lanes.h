// SPDX-License-Identifier: Apache-2.0
// One rank's events as columns, for drawing: loaded once by the timeline instead of one SQL query
// per frame.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/align/clock_map.h"
#include "analyzer/run/run.h"
#include "base/interval.h"
#include "base/result.h"
#include "schema/generated/rows.h"
#include "schema/marker_names.h"

namespace dprof::analyzer {

// Slices of one thread, or of one stream of a device, at one nesting depth: sorted by start, never
// overlapping. 25 bytes per slice.
struct Lane {
  std::vector<int64_t> start_ns;
  std::vector<int64_t> duration_ns;  // an open slice extends to the end of the trace; see `open`
  std::vector<int32_t> name;         // index into RankLanes::names
  std::vector<int64_t> row;          // id in `table`
  std::vector<uint8_t> phase;        // Category of the slice, as coloured in the breakdown
};

struct ThreadLanes {
  int64_t thread_id = 0;          // for a stream: its number in CUDA
  std::optional<int64_t> device;  // for a stream, if the rank uses several
  std::string name;               // "main", "gloo worker 2", "stream 7"
  schema::ThreadRole role{};
  std::string table;         // host_range, collective, or gpu_activity: a stream
  std::vector<Lane> depths;  // 0 = outermost; in a stream, overlapping activities are below
};

// Missing records, with their number. Losses without times are only in the report.
struct LossSpan {
  Interval span;
  std::optional<int64_t> thread_id;  // nullopt = no thread, or unknown
  schema::LossReason reason{};
  int64_t count = 0;
};

struct RankLanes {
  int rank = 0;
  Interval span;  // first to last event
  std::vector<std::string> names;
  std::vector<ThreadLanes> threads;  // main first, then autograd, streams, communication, others
  int64_t open_slices = 0;
  std::vector<LossSpan> losses;  // by begin
};

// True if a slice that ends at `end` has no recorded end: it is drawn to the end of its trace, and
// has no duration.
[[nodiscard]] inline bool is_unfinished(const RankLanes& rank, TraceNs end) {
  return rank.open_slices > 0 && end == rank.span.end;
}

// Loads one rank. O(events). Times are on the run's axis, to which `clock` leads
// (RankAnalysis::clock); collectives that never began are left out. With `within`, only what
// touches it, and a kernel's phase is unknown if it was launched before.
Result<RankLanes> load_lanes(const TraceFile& trace, const ClockMap& clock = {},
                             std::optional<Interval> within = {});

// All fields of one row, as (field, value) texts: for the details panel. Times are on the run's
// axis.
Result<std::vector<std::pair<std::string, std::string>>> describe_row(const TraceFile& trace,
                                                                      std::string_view table,
                                                                      int64_t row,
                                                                      const ClockMap& clock = {});

}  // namespace dprof::analyzer
