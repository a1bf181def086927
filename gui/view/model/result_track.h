// SPDX-License-Identifier: Apache-2.0
// A query's result on the timeline: the trace rows that its lines name, their times, and lanes made
// from them. Times in a result are on the clock of each rank's host; here they are converted to the
// run's axis.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gui/view/drawing/panel.h"
#include "gui/view/model/model.h"
#include "gui/view/model/slice_place.h"

namespace dprof::view {

// A trace row named by a line.
struct NamedRow {
  int rank = 0;
  std::string table;
  int64_t row = 0;
};
[[nodiscard]] std::string selector_of(const NamedRow& row);

// Named by this cell, or by the first cell that names one.
[[nodiscard]] std::optional<NamedRow> named_row(const analyzer::SqlResult& result, size_t line,
                                                size_t column);
[[nodiscard]] std::optional<NamedRow> named_row(const analyzer::SqlResult& result, size_t line);

// The columns that contain a line's time and name.
struct TimeColumns {
  size_t start = 0;                // start_ns, time_ns or ts
  std::optional<size_t> duration;  // duration_ns or dur
  std::optional<size_t> end;       // end_ns, if there is no duration
  std::optional<size_t> name;      // name or label
};
[[nodiscard]] std::optional<TimeColumns> time_columns(const analyzer::SqlResult& result);

// On the run's axis. An instant is a nanosecond long; an open end extends to the run's end. nullopt
// = the line has no time, or its rank is not in the model.
[[nodiscard]] std::optional<Interval> span_of_line(const Model& model,
                                                   const analyzer::SqlResult& result,
                                                   const TimeColumns& columns, size_t line);

// The result's lanes, by Model::ranks; nullptr for a rank without lines. Overlapping lines get
// separate lanes. Needs time columns. O(lines * (log lines + lanes)).
[[nodiscard]] std::vector<SharedResultLanes> lanes_of_result(
    const Model& model, const std::shared_ptr<const analyzer::SqlResult>& result,
    const std::string& title);

// The line shown by a slice of such lanes.
struct ResultLine {
  const ResultLanes* lanes = nullptr;
  const analyzer::SqlResult* result = nullptr;
  size_t line = 0;
};
[[nodiscard]] std::optional<ResultLine> result_line_of(const Model& model, const SlicePlace& place);
[[nodiscard]] std::string title_of_line(const ResultLine& line);
[[nodiscard]] Fields fields_of_line(const ResultLine& line);

// "row:5/host_range/81234"; for a result's line the row that it names, else its time.
[[nodiscard]] std::string selector_of(const Model& model, const SlicePlace& place);

}  // namespace dprof::view
