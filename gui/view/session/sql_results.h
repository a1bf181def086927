// SPDX-License-Identifier: Apache-2.0
// What the dock SQL's answers are on the timeline: rows that are selected, and tracks that show
// what a statement found. Tracks live with the model's ranks.
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

  // Whom the console's statement is asked of.
  [[nodiscard]] std::vector<analyzer::TraceFile> traces_to_ask() const;
  // Shows what a line of the result is about: the row that it names, else its time, else its rank.
  // With a column the row that this cell names.
  void choose_line(size_t line, std::optional<size_t> column = {});
  bool next_line(int by);
  // Shows the result beside the events of its ranks; kUsage where it has no times.
  Status make_track();
  [[nodiscard]] bool has_track() const;  // of the result that the dock shows
  void remove_track();
  // That which is selected, else all.
  void remove_tracks();

 private:
  void remove(const std::function<bool(const ResultLanes&)>& matches);

  const SharedModel& model_;
  Tracks& tracks_;
  const Viewport& viewport_;
  Selecting& selecting_;
  SqlConsole& console_;
};

// A run that was read again: results are of what it was before, and say so.
void take_over_results(const Model& model, const Model& former);

}  // namespace dprof::view
