// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/call_order.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/stats.h"

namespace dprof::analyzer {
namespace {

using CallPlace = std::tuple<size_t, uint64_t, uint32_t>;  // step, program, number

// The first moment in [from, to] with that much own work behind it; `to` if there is none.
TraceNs moment_of(const OwnClock& clock, TraceNs from, TraceNs to, int64_t own_ns) {
  int64_t low = from.ns;
  int64_t high = to.ns;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (clock.at({middle}) >= own_ns) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return {low};
}

// Visits each call with the one called before it in its step, in the order of the calls.
template <typename Visit>
void for_each_pair(std::vector<ReplayedCall>& calls, Visit&& visit) {
  std::ranges::sort(calls, {}, &ReplayedCall::record);
  for (size_t c = 1; c < calls.size(); ++c) {
    if (calls[c].step == calls[c - 1].step) visit(calls[c - 1], calls[c]);
  }
}

}  // namespace

Programs number_calls(std::vector<std::vector<ReplayedCall>>& calls,
                      const std::vector<std::vector<TraceNs>>& borders) {
  Programs programs;
  for (size_t r = 0; r < calls.size(); ++r) {
    const size_t steps = borders[r].size() - 1;
    std::vector<uint64_t>& program = programs.emplace_back(steps, 1);
    std::vector<uint32_t> next(steps, 0);
    std::ranges::sort(calls[r], {}, &ReplayedCall::record);
    for (ReplayedCall& call : calls[r]) {
      const auto after = std::ranges::upper_bound(borders[r], call.at);
      call.step = std::min(static_cast<size_t>(after - borders[r].begin()) - 1, steps - 1);
      call.number = next[call.step]++;
      program[call.step] = likeness_with(program[call.step], call.likeness);
    }
    std::ranges::stable_sort(calls[r], {}, &ReplayedCall::at);
  }
  return programs;
}

void place_queued_calls(std::vector<std::vector<ReplayedCall>>& calls, const Programs& programs,
                        std::span<const OwnClock> clocks) {
  const auto any_queued = [](const std::vector<ReplayedCall>& of_rank) {
    return std::ranges::any_of(of_rank, &ReplayedCall::queued);
  };
  if (std::ranges::none_of(calls, any_queued)) return;
  std::map<CallPlace, std::vector<int64_t>> unhindered;  // own work since the call before
  for (size_t r = 0; r < calls.size(); ++r) {
    for_each_pair(calls[r], [&](const ReplayedCall& before, const ReplayedCall& call) {
      if (before.queued || call.queued) return;
      unhindered[{call.step, programs[r][call.step], call.number}].push_back(
          clocks[r].at(call.at) - clocks[r].at(before.at));
    });
  }
  for (size_t r = 0; r < calls.size(); ++r) {
    for_each_pair(calls[r], [&](const ReplayedCall& before, ReplayedCall& call) {
      const auto known = unhindered.find({call.step, programs[r][call.step], call.number});
      if (!call.queued || known == unhindered.end() || before.at >= call.at) return;
      const int64_t own = clocks[r].at(before.at) + std::max<int64_t>(0, median_ns(known->second));
      call.at = moment_of(clocks[r], before.at, call.at, own);
    });
    std::ranges::stable_sort(calls[r], {}, &ReplayedCall::at);
  }
}

}  // namespace dprof::analyzer
