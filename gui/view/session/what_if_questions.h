// SPDX-License-Identifier: Apache-2.0
// What is asked of the replayed run: changes, as `dprof report --what-if` takes them, and what a
// step would take with them.
//
// Threading  the user interface's thread only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gui/view/drawing/counted.h"
#include "gui/view/model/selection.h"
#include "gui/view/session/counted_figures.h"

namespace dprof::view {

class WhatIfQuestions {
 public:
  // Ranks that are selected are offered as well.
  WhatIfQuestions(const SharedModel& model, const Selection& selection,
                  const CountedFigures& counted)
      : model_(model), selection_(selection), counted_(counted) {}
  void open() { changes_.clear(); }
  void renew() { controls_.forget(); }

  [[nodiscard]] const std::vector<std::string>& changes() const { return changes_; }
  void change(std::vector<std::string> changes) { changes_ = std::move(changes); }
  // Instead of what of these is among them; "" = none of them any more.
  void change(const std::vector<WhatIfStop>& instead_of, const std::string& change);
  [[nodiscard]] const std::vector<WhatIfControl>& controls() const;
  // Of the changes; nullptr = there are none, or nothing can be asked.
  [[nodiscard]] const WhatIfAnswer* answer() const;
  // Whether a former answer is shown.
  [[nodiscard]] bool is_counting() const { return counted_.is_counting_what_if(); }
  // Of each control's largest change.
  [[nodiscard]] const WhatIfTrials& trials() const;
  [[nodiscard]] std::string command_line() const;

 private:
  const SharedModel& model_;
  const Selection& selection_;
  const CountedFigures& counted_;
  std::vector<std::string> changes_;
  mutable Counted<std::vector<int>, std::vector<WhatIfControl>> controls_;
};

}  // namespace dprof::view
