// SPDX-License-Identifier: Apache-2.0
// The user's notes on moments and ranges of a run.
//
// Threading  the user interface's thread only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gui/view/model/saved_view.h"
#include "gui/view/session/selecting.h"

namespace dprof::view {

class Notes {
 public:
  Notes(Viewport& viewport, Selecting& selecting) : viewport_(viewport), selecting_(selecting) {}

  // In order of time.
  [[nodiscard]] const std::vector<Note>& all() const { return all_; }
  void set(std::vector<Note> all) { all_ = std::move(all); }
  void add(Interval at, std::string text);
  void remove(size_t index);
  void show(size_t index);

 private:
  Viewport& viewport_;
  Selecting& selecting_;
  std::vector<Note> all_;
};

}  // namespace dprof::view
