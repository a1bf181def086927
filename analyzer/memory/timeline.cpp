// SPDX-License-Identifier: Apache-2.0
#include "analyzer/memory/timeline.h"

#include <algorithm>

namespace dprof::analyzer {

int64_t StepClock::position(TraceNs at) const {
  const auto next = std::ranges::upper_bound(
      steps_, at, {}, [](const StepRecord& step) { return step.window.begin; });
  return next - steps_.begin() - 1;
}

std::optional<double> StepClock::place(TraceNs at) const {
  const int64_t i = position(at);
  if (i < 0) return std::nullopt;
  const Interval& window = steps_[static_cast<size_t>(i)].window;
  if (window.empty()) return std::nullopt;
  const double share =
      static_cast<double>((at - window.begin).ns) / static_cast<double>(window.length().ns);
  // Between two steps the time is constant; after the last one it has ended.
  if (share > 1 && i + 1 == count()) return std::nullopt;
  return static_cast<double>(i) + std::min(share, 1.0);
}

std::optional<int64_t> StepClock::index(TraceNs at) const {
  const std::optional<size_t> step = holder_of(steps_, at, &StepRecord::window);
  return step ? std::optional(steps_[*step].index) : std::nullopt;
}

std::vector<Interval> steady_windows(const Steps* steps, size_t d) {
  std::vector<Interval> windows;
  if (steps == nullptr) return windows;
  const auto own = std::ranges::find(steps->ranks, d);
  if (own == steps->ranks.end()) return windows;
  for (const AlignedStep& step : steps->steady())
    windows.push_back(step.windows[static_cast<size_t>(own - steps->ranks.begin())]);
  return windows;
}

std::vector<StepLevel> levels_in(std::span<const MemoryCell> cells,
                                 std::span<const Interval> windows, const StepClock& clock) {
  std::vector<StepLevel> levels;
  if (cells.empty()) return levels;
  for (const Interval& window : windows) {
    const std::optional<double> place = clock.place(window.begin);
    if (!place) continue;
    const auto first = std::ranges::lower_bound(cells, window.begin, {}, &MemoryCell::begin);
    auto last = std::ranges::lower_bound(cells, window.end, {}, &MemoryCell::begin);
    // The last one can extend beyond the window.
    const bool beyond = last == cells.end() || last->begin > window.end;
    const bool exact = first != cells.end() && first->begin == window.begin;
    if (beyond && !exact && last - first > 1) --last;
    if (first == last && first == cells.begin()) continue;
    StepLevel level{first == last ? *std::prev(first) : *first, *place};
    if (first == last) {
      level.level.segment_allocs = level.level.segment_frees = level.level.flushes = 0;
    } else {
      for (auto cell = std::next(first); cell != last; ++cell) join(level.level, *cell);
    }
    levels.push_back(level);
  }
  return levels;
}

}  // namespace dprof::analyzer
