// SPDX-License-Identifier: Apache-2.0
// A session's critical path, and its questions to the replayed run.
#include <algorithm>

#include "gui/view/drawing/texts.h"
#include "gui/view/session/landmarks.h"
#include "gui/view/session/session.h"

namespace dprof::view {
namespace {

Failure no_path(std::string what) {
  return fail(Code::kNotFound, std::move(what),
              say("the path is known of steady steps whose replay is as they were recorded"));
}

}  // namespace

std::optional<size_t> Session::path_step() const {
  if (!model_->path || model_->steps.empty()) return std::nullopt;
  const TraceNs middle = range_.begin + DurationNs{range_.length().ns / 2};
  return model_->path->index_of_step(selection_.step.value_or(step_at(*model_, middle)));
}

Status Session::explain_step(std::optional<int64_t> asked) {
  if (!model_->path) return no_path(say("the run has no critical path"));
  const std::optional<size_t> index = asked ? model_->path->index_of_step(*asked) : path_step();
  if (!index) return no_path(say("this step has no critical path"));
  const int64_t step = model_->path->steps[*index].step;
  selection_.step = step;
  selection_.range.reset();
  selection_.slice.reset();
  selection_.collective.reset();
  path_shown_ = true;
  dock_ = Dock::kPath;
  remember(History::Move::kJump);
  page_ = Page::kTimeline;
  constexpr int kAround = 40;  // per thousand
  if (const auto place = model_->index_of_step(step))
    set_range(padded(model_->steps[*place].window, kAround));
  return Done{};
}

void Session::show_jump(size_t index) {
  if (!model_->path || index >= model_->path->jumps.size()) return;
  const PathJump& jump = model_->path->jumps[index];
  path_shown_ = true;
  tracks_.scroll_to_rank(model_->ranks[static_cast<size_t>(jump.to)].rank);
  constexpr int kPart = 8;  // of its step
  const DurationNs half{model_->path->steps[jump.step].length_ns / kPart};
  remember(History::Move::kJump);
  page_ = Page::kTimeline;
  set_range({jump.at - half, jump.at + half});
}

void Session::change(const std::vector<WhatIfStop>& instead_of, const std::string& change) {
  std::erase_if(changes_, [&](const std::string& former) {
    return std::ranges::any_of(instead_of,
                               [&](const WhatIfStop& stop) { return stop.change == former; });
  });
  if (!change.empty() && std::ranges::count(changes_, change) == 0) changes_.push_back(change);
}

const std::vector<WhatIfControl>& Session::controls() const {
  static const std::vector<WhatIfControl> kNone;
  if (!model_->what_if) return kNone;
  // Ranks that somebody asks about are offered as well.
  constexpr size_t kMostChosen = 2;
  std::vector<int> ranks = selection_.ranks;
  ranks.resize(std::min(ranks.size(), kMostChosen));
  return controls_.of(ranks, [this](const std::vector<int>& chosen) {
    return what_if_controls(*model_->what_if, chosen);
  });
}

const WhatIfAnswer* Session::answer() const {
  if (!model_->what_if || changes_.empty()) return nullptr;
  return &counted_.what_if(changes_);
}

const WhatIfTrials& Session::trials() const {
  static const WhatIfTrials kNone;
  if (!model_->what_if) return kNone;
  std::vector<std::string> changes;
  for (const WhatIfControl& control : controls())
    changes.push_back(control.stops[control.tried].change);
  return counted_.trials(changes);
}

std::string Session::command_line() const {
  const auto& paths = model_->run.paths;
  return what_if_command(paths.size() == 1 ? paths.front().string() : model_->run.name, changes_);
}

}  // namespace dprof::view
