// SPDX-License-Identifier: Apache-2.0
// Selectors: texts that name a thing in a run (`rank:5`, `rank:5/stream:7`, `step:42`,
// `steps:40..60`, `finding:1`, `row:5/host_range/81234`, `range:41.2s..41.3s`,
// `collective:0x9f3a/all_reduce/1187`, `name:ncclDevKernel_*`, `duration:1ms..2ms`), and the
// selections they make.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gui/view/model/model.h"
#include "gui/view/model/slice_place.h"
#include "gui/view/model/under_mouse.h"

namespace dprof::view {

struct Selection {
  std::optional<size_t> finding;     // index into the findings (selectors count from 1)
  std::optional<int64_t> step;       // as numbered in the trace
  std::optional<Interval> range;     // chosen by hand
  std::optional<size_t> collective;  // index into Model::collectives
  std::optional<SlicePlace> slice;
  std::vector<int> ranks;                  // that the selection is about
  std::string name;                        // pattern for event names; "" = none chosen
  std::optional<DurationRange> durations;  // of the events with that name
  std::string track;                       // of a thread or stream, as Row::track; "" = none chosen

  [[nodiscard]] bool has_rank(int rank) const;
};

enum class SelectorKind : uint8_t {
  kRank,
  kTrack,
  kStep,
  kSteps,
  kFinding,
  kRow,
  kRange,
  kCollective,
  kName,
  kDuration
};

struct Selector {
  SelectorKind kind = SelectorKind::kRank;
  int64_t number = 0;  // rank, step, finding (from 1), sequence
  int64_t last = 0;    // of steps
  int64_t row = 0;
  std::string table;  // or a collective's function, or a pattern of names, or a track
  std::string communicator;
  Interval range;
  DurationRange durations;
};

// Parses a selector; on failure the error shows the grammar.
Result<Selector> parse_selector(std::string_view text);

// "1.5s", "20ms", "7us", "7ns"; nullopt: not a time.
[[nodiscard]] std::optional<TraceNs> read_moment(std::string_view text);

// The place of a row on the timeline; nullopt = nowhere. O(events of that table).
[[nodiscard]] std::optional<SlicePlace> place_of_row(const Model& model, int rank,
                                                     std::string_view table, int64_t row);

// Checks that the run has what the selector names, and adds it to the selection.
Status apply(const Model& model, const Selector& selector, Selection& selection);

// The selectors that reproduce this selection.
[[nodiscard]] std::vector<std::string> selectors_of(const Model& model, const Selection& selection);

// The chosen thread or stream, else that of the chosen event, else the chosen ranks.
[[nodiscard]] std::vector<std::string> tracks_of(const Model& model, const Selection& selection);
// The same track on all ranks: "rank:*/stream:7"; "" = nothing is chosen.
[[nodiscard]] std::string track_pattern_of(const Model& model, const Selection& selection);
// The ranks of the selected collective's communicator.
[[nodiscard]] std::vector<std::string> tracks_of_communicator(const Model& model,
                                                              const Selection& selection);

// Number of events (slices of thread lanes) of the selection's ranks in `range`.
[[nodiscard]] int64_t events_in(const Model& model, const std::vector<int>& ranks, Interval range);

}  // namespace dprof::view
