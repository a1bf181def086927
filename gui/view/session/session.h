// SPDX-License-Identifier: Apache-2.0
// One open run and its view, composed of objects with one task each. Keyboard and mouse commands
// are calls to these; drawing code takes those that it shows. This class does what concerns all of
// them: a run is opened, read again, saved.
//
// Threading  the user interface's thread only.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gui/view/model/saved_view.h"
#include "gui/view/model/sql_console.h"
#include "gui/view/session/counted_figures.h"
#include "gui/view/session/dock.h"
#include "gui/view/session/event_figures.h"
#include "gui/view/session/event_flow.h"
#include "gui/view/session/notes.h"
#include "gui/view/session/page_figures.h"
#include "gui/view/session/selecting.h"
#include "gui/view/session/shown_path.h"
#include "gui/view/session/sql_results.h"
#include "gui/view/session/tracks.h"
#include "gui/view/session/viewport.h"
#include "gui/view/session/walk.h"
#include "gui/view/session/what_if_questions.h"

namespace dprof::view {

class Session {
 private:
  SharedModel model_;  // first: everything else refers to it

 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Shows the run as it opens: about three steady steps, the most expensive finding selected.
  void open(SharedModel model);
  // Resets the open run to this state; the sort orders of pages and docks stay.
  void open_again();
  // The same run, read again: the view stays, unless it is still as opened.
  void renew(SharedModel model);
  // Saves the view, and restores it: ignores what this run does not have.
  [[nodiscard]] SavedView saved_view() const;
  void restore(const SavedView& view);
  [[nodiscard]] bool is_as_opened() const;

  [[nodiscard]] bool is_open() const { return model_ != nullptr; }
  [[nodiscard]] const Model& model() const { return *model_; }
  [[nodiscard]] const SharedModel& shared_model() const { return model_; }

  // Rank indexes whose events should be visible: chosen, unfolded, pinned; most important first.
  [[nodiscard]] std::vector<size_t> looked_at() const;
  // A rank's events have been loaded or dropped.
  void take_events(size_t rank_index, SharedEvents events);
  // The events that the selected event led to or came from, as requested from the trace. Also
  // selects the collective among these.
  void take_flow(const SlicePlace& of, const std::vector<analyzer::RelatedRow>& rows);
  // Shows the path of this step, else of the current one, and its dock.
  Status explain_step(std::optional<int64_t> step = {});

  Tracks tracks;
  Viewport viewport{model_, tracks};
  Selecting selecting{model_, tracks, viewport};
  EventFlow flow{model_, selecting.selection()};
  Walk walk{model_, viewport, selecting, flow};
  Notes notes{viewport, selecting};
  ShownPath path{model_, tracks, viewport, selecting};
  CountedFigures counted;
  EventFigures events{model_, tracks, viewport, selecting, counted};
  WhatIfQuestions what_if{model_, selecting.selection(), counted};
  StepFigures steps{model_};
  CollectiveFigures collectives{model_};
  PairFigures pairs{model_, selecting};
  GridFigures grid{model_};
  std::shared_ptr<const ComparedRuns> compared;  // nullptr = none
  SqlConsole sql;
  SqlResults sql_results{model_, tracks, viewport, selecting, sql};
  Dock dock = Dock::kSelection;  // the last one shown

 private:
  void forget_figures();
  void apply_all(const std::vector<std::string>& selectors);

  SavedView opened_;  // state right after opening
};

}  // namespace dprof::view
