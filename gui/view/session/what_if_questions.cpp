// SPDX-License-Identifier: Apache-2.0
#include "gui/view/session/what_if_questions.h"

#include <algorithm>

namespace dprof::view {

void WhatIfQuestions::change(const std::vector<WhatIfStop>& instead_of, const std::string& change) {
  std::erase_if(changes_, [&](const std::string& former) {
    return std::ranges::any_of(instead_of,
                               [&](const WhatIfStop& stop) { return stop.change == former; });
  });
  if (!change.empty() && std::ranges::count(changes_, change) == 0) changes_.push_back(change);
}

const std::vector<WhatIfControl>& WhatIfQuestions::controls() const {
  static const std::vector<WhatIfControl> kNone;
  if (!model_->what_if) return kNone;
  // Controls also include the selected ranks.
  constexpr size_t kMostChosen = 2;
  std::vector<int> ranks = selection_.ranks;
  ranks.resize(std::min(ranks.size(), kMostChosen));
  return controls_.now(ranks, [this](const std::vector<int>& chosen) {
    return what_if_controls(*model_->what_if, chosen);
  });
}

const WhatIfAnswer* WhatIfQuestions::answer() const {
  if (!model_->what_if || changes_.empty()) return nullptr;
  return &counted_.what_if(changes_);
}

const WhatIfTrials& WhatIfQuestions::trials() const {
  static const WhatIfTrials kNone;
  if (!model_->what_if) return kNone;
  std::vector<std::string> changes;
  for (const WhatIfControl& control : controls())
    changes.push_back(control.stops[control.tried].change);
  return counted_.trials(changes);
}

std::string WhatIfQuestions::command_line() const {
  const auto& paths = model_->run.paths;
  return what_if_command(paths.size() == 1 ? paths.front().string() : model_->run.name, changes_);
}

}  // namespace dprof::view
