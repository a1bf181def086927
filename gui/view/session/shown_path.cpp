// SPDX-License-Identifier: Apache-2.0
#include "gui/view/session/shown_path.h"

#include "gui/view/drawing/texts.h"
#include "gui/view/session/landmarks.h"

namespace dprof::view {
namespace {

Failure no_path(std::string what) {
  return fail(Code::kNotFound, std::move(what),
              say("only steady steps that the replay reproduces have a path"));
}

}  // namespace

std::optional<size_t> ShownPath::step() const {
  if (!model_->path || model_->steps.empty()) return std::nullopt;
  const Interval range = viewport_.range();
  const TraceNs middle = range.begin + DurationNs{range.length().ns / 2};
  return model_->path->index_of_step(
      selecting_.selection().step.value_or(step_at(*model_, middle)));
}

Status ShownPath::explain(std::optional<int64_t> asked) {
  if (!model_->path) return no_path(say("the run has no critical path"));
  const std::optional<size_t> index = asked ? model_->path->index_of_step(*asked) : step();
  if (!index) return no_path(say("this step has no critical path"));
  const int64_t explained = model_->path->steps[*index].step;
  Selection selection = selecting_.selection();
  selection.step = explained;
  selection.range.reset();
  selection.slice.reset();
  selection.collective.reset();
  selecting_.set(std::move(selection));
  is_shown_ = true;
  constexpr int kAround = 40;  // per thousand
  const auto place = model_->index_of_step(explained);
  viewport_.show_on(Page::kTimeline,
                    place ? padded(model_->steps[*place].window, kAround) : viewport_.range());
  return Done{};
}

void ShownPath::show_jump(size_t index) {
  if (!model_->path || index >= model_->path->jumps.size()) return;
  const PathJump& jump = model_->path->jumps[index];
  is_shown_ = true;
  tracks_.scroll_to_rank(model_->ranks[static_cast<size_t>(jump.to)].rank);
  constexpr int kPart = 8;  // of its step
  const DurationNs half{model_->path->steps[jump.step].length_ns / kPart};
  viewport_.show_on(Page::kTimeline, {jump.at - half, jump.at + half});
}

}  // namespace dprof::view
