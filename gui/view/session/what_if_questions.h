// SPDX-License-Identifier: Apache-2.0
// Questions to the replayed run: changes, as for `dprof report --what-if`, and the predicted step.
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
  // Controls also include the selected ranks.
  WhatIfQuestions(const SharedModel& model, const Selection& selection,
                  const CountedFigures& counted)
      : model_(model), selection_(selection), counted_(counted) {}
  void open() { changes_.clear(); }
  void renew() { controls_.forget(); }

  [[nodiscard]] const std::vector<std::string>& changes() const { return changes_; }
  void change(std::vector<std::string> changes) { changes_ = std::move(changes); }
  // Replaces whichever of these is among the changes; "" = removes it.
  void change(const std::vector<WhatIfStop>& instead_of, const std::string& change);
  [[nodiscard]] const std::vector<WhatIfControl>& controls() const;
  // For the changes; nullptr = there are none, or the run cannot be replayed.
  [[nodiscard]] const WhatIfAnswer* answer() const;
  // True if a previous answer is shown.
  [[nodiscard]] bool is_counting() const { return counted_.is_counting_what_if(); }
  // For each control's largest change.
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
