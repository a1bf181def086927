// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/device_windows.h"

#include <algorithm>

namespace dprof::analyzer {

std::vector<std::optional<Interval>> device_windows_of(std::span<const Launch> launches,
                                                       std::span<const Interval> hosts,
                                                       TraceNs end) {
  // The first start of work launched in a step, and in the gap after it.
  struct Stretch {
    std::optional<TraceNs> in_step;
    std::optional<TraceNs> in_gap;
  };
  std::vector<Stretch> stretches(hosts.size());
  const auto earlier = [](std::optional<TraceNs>& first, TraceNs start) {
    first = first ? std::min(*first, start) : start;
  };
  size_t next = 0;
  for (const Launch& launch : launches) {
    while (next < hosts.size() && hosts[next].end <= launch.launch) ++next;
    if (next < hosts.size() && hosts[next].begin <= launch.launch) {
      earlier(stretches[next].in_step, launch.start);
    } else if (next > 0) {
      earlier(stretches[next - 1].in_gap, launch.start);
    }
  }
  std::vector<std::optional<Interval>> windows(hosts.size());
  TraceNs bound = end;  // begin of the next one; backwards, so that begins are monotone
  for (size_t s = hosts.size(); s-- > 0;) {
    if (stretches[s].in_gap) bound = std::min(bound, *stretches[s].in_gap);
    if (!stretches[s].in_step) continue;
    const TraceNs begin = std::min(*stretches[s].in_step, bound);
    if (begin < bound) windows[s] = Interval{begin, bound};
    bound = begin;
  }
  return windows;
}

std::vector<Interval> own_windows(std::span<const AlignedStep> steps, size_t entry) {
  const bool on_device = std::ranges::all_of(steps, [&](const AlignedStep& step) {
    return !step.device_windows.empty() && step.device_windows[entry].has_value();
  });
  std::vector<Interval> windows;
  for (const AlignedStep& step : steps)
    windows.push_back(on_device ? *step.device_windows[entry] : step.windows[entry]);
  return windows;
}

}  // namespace dprof::analyzer
