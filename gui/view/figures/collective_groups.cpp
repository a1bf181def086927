// SPDX-License-Identifier: Apache-2.0
#include "gui/view/figures/collective_groups.h"

#include <algorithm>
#include <functional>
#include <map>

#include "gui/view/figures/collective_lines.h"
#include "gui/view/figures/collective_times.h"

namespace dprof::view {
namespace {

struct Times {
  std::vector<int64_t> spreads;
  std::vector<int64_t> waits;
  std::vector<int64_t> transfers;
  std::map<int, int64_t> last;  // by rank: how often
};

// The lower one of an even number.
int64_t median(std::vector<int64_t>& values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

void summarise(Times& times, CollectiveGroup& group) {
  if (!times.spreads.empty()) group.median_spread_ns = median(times.spreads);
  if (!times.waits.empty()) {
    group.median_wait_ns = median(times.waits);
    group.median_transfer_ns = median(times.transfers);
  }
  for (const auto& [rank, often] : times.last) {
    if (often <= group.times_last) continue;
    group.last_arriver = rank;
    group.times_last = often;
  }
}

}  // namespace

CollectiveKind kind_of(const analyzer::MatchedCollective& collective) {
  return {collective.communicator, collective.function, collective.bytes};
}

std::vector<CollectiveGroup> collective_groups(const Model& model) {
  std::map<CollectiveKind, std::pair<CollectiveGroup, Times>> groups;
  for (const analyzer::MatchedCollective& one : model.collectives) {
    auto& [group, times] = groups[kind_of(one)];
    ++group.count;
    group.most_members = std::max(group.most_members, one.members.size());
    if (!one.complete) {
      ++group.incomplete;
      continue;
    }
    const int64_t wait = longest_wait(one);
    if (const std::optional<DurationNs> spread = arrival_spread(one))
      times.spreads.push_back(spread->ns);
    times.waits.push_back(wait);
    times.transfers.push_back(one.transfer_ns);
    group.total_ns += wait + one.transfer_ns;
    if (one.last_arriver) ++times.last[*one.last_arriver];
  }
  std::vector<CollectiveGroup> sorted;
  for (auto& [kind, made] : groups) {
    auto& [group, times] = made;
    group.kind = kind;
    summarise(times, group);
    sorted.push_back(std::move(group));
  }
  std::ranges::stable_sort(sorted, std::greater(), &CollectiveGroup::total_ns);
  return sorted;
}

}  // namespace dprof::view
