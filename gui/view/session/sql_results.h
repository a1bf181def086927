// SPDX-License-Identifier: Apache-2.0
// The dock SQL's answers on the timeline: selected rows, and tracks that show what a statement
// found. Tracks live with the model's ranks.
//
// Threading  the user interface's thread only.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "gui/view/model/sql_console.h"
#include "gui/view/session/selecting.h"

namespace dprof::view {

class SqlResults {
 public:
  SqlResults(const SharedModel& model, Tracks& tracks, const Viewport& viewport,
             Selecting& selecting, SqlConsole& console)
      : model_(model),
        tracks_(tracks),
        viewport_(viewport),
        selecting_(selecting),
        console_(console) {}

  // The ranks that the console's statement queries.
  [[nodiscard]] std::vector<analyzer::TraceFile> traces_to_ask() const;
  // Shows the subject of a result line: the row that it names, else its time, else its rank. With a
  // column, the row named by this cell.
  void choose_line(size_t line, std::optional<size_t> column = {});
  bool next_line(int by);
  // Shows the result beside the events of its ranks; kUsage if it has no times.
  Status make_track();
  [[nodiscard]] bool has_track() const;  // of the result in the dock
  void remove_track();
  // The selected one, else all.
  void remove_tracks();

 private:
  void remove(const std::function<bool(const ResultLanes&)>& matches);

  const SharedModel& model_;
  Tracks& tracks_;
  const Viewport& viewport_;
  Selecting& selecting_;
  SqlConsole& console_;
};

// After a run was read again: results belong to its earlier state, and say so.
void take_over_results(const Model& model, const Model& former);

}  // namespace dprof::view
