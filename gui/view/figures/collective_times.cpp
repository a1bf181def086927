// SPDX-License-Identifier: Apache-2.0
#include "gui/view/figures/collective_times.h"

#include <algorithm>

namespace dprof::view {

std::optional<TraceNs> arrival_of(const analyzer::CollectiveMember& member) {
  return member.start ? member.start : member.enqueue;
}

std::vector<const analyzer::CollectiveMember*> arrivals_of(
    const analyzer::MatchedCollective& collective) {
  std::vector<const analyzer::CollectiveMember*> members;
  for (const analyzer::CollectiveMember& member : collective.members) {
    if (arrival_of(member)) members.push_back(&member);
  }
  std::stable_sort(members.begin(), members.end(),
                   [](const auto* a, const auto* b) { return *arrival_of(*a) < *arrival_of(*b); });
  return members;
}

int64_t longest_wait(const analyzer::MatchedCollective& collective) {
  int64_t longest = 0;
  for (const analyzer::CollectiveMember& member : collective.members) {
    longest = std::max(longest, member.wait_ns);
  }
  return longest;
}

Interval extent_of(const analyzer::MatchedCollective& collective) {
  Interval extent;
  bool any = false;
  for (const analyzer::CollectiveMember& member : collective.members) {
    const std::optional<TraceNs> begin = arrival_of(member);
    if (!begin) continue;
    const TraceNs end = member.end.value_or(*begin);
    extent = any ? Interval{std::min(extent.begin, *begin), std::max(extent.end, end)}
                 : Interval{*begin, end};
    any = true;
  }
  return extent;
}

}  // namespace dprof::view
