// SPDX-License-Identifier: Apache-2.0
// The critical path over the timeline: whether it is shown, and for which step.
//
// Threading  the user interface's thread only.
#pragma once

#include <optional>

#include "base/result.h"
#include "gui/view/session/selecting.h"

namespace dprof::view {

class ShownPath {
 public:
  ShownPath(const SharedModel& model, Tracks& tracks, Viewport& viewport, Selecting& selecting)
      : model_(model), tracks_(tracks), viewport_(viewport), selecting_(selecting) {}

  [[nodiscard]] bool is_shown() const { return is_shown_; }
  void show(bool shown) { is_shown_ = shown; }
  // nullptr = not shown, or the run has none.
  [[nodiscard]] const RunPath* shown() const { return is_shown_ ? model_->path.get() : nullptr; }
  // The chosen step, else the one in the middle of the visible range, if it has a path: an index
  // into RunPath::steps.
  [[nodiscard]] std::optional<size_t> step() const;
  // Explains why this step is long: shows the step, its path, and what takes longer on it than
  // usual. For this step, else for the current one.
  Status explain(std::optional<int64_t> step = {});
  void show_jump(size_t index);

 private:
  const SharedModel& model_;
  Tracks& tracks_;
  Viewport& viewport_;
  Selecting& selecting_;
  bool is_shown_ = false;
};

}  // namespace dprof::view
