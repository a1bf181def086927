// SPDX-License-Identifier: Apache-2.0
#include "gui/view/figures/collective_groups.h"

#include <algorithm>
#include <functional>
#include <map>

#include "gui/view/drawing/texts.h"
#include "gui/view/figures/collective_lines.h"
#include "gui/view/figures/collective_times.h"
#include "gui/view/figures/notable_ranks.h"

namespace dprof::view {
namespace {

struct Times {
  std::vector<int64_t> spreads;
  std::vector<int64_t> waits;
  std::vector<int64_t> transfers;
  std::map<int, int64_t> last;    // by rank: how often
  std::map<int, int64_t> caused;  // by rank that came last: longest waits
};

// The lower one for an even number.
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
  for (const auto& [rank, ns] : times.caused) {
    if (ns <= group.waited_for_ns) continue;
    group.waited_for = rank;
    group.waited_for_ns = ns;
  }
}

// If the name is not informative, groups by size.
std::string kind_of_group(const analyzer::MatchedCollective& collective) {
  std::string family = family_of(collective.communicator);
  return family.empty() ? say("groups of {}", collective.members.size()) : family;
}

}  // namespace

std::string family_of(std::string_view communicator) {
  const size_t letters = communicator.find_last_not_of("0123456789");
  if (letters == std::string_view::npos || letters + 1 == communicator.size() ||
      communicator.starts_with("0x"))
    return {};
  return std::string(communicator.substr(0, letters + 1)) + "*";
}

CollectiveKind kind_of(const Model& model, const analyzer::MatchedCollective& collective) {
  return {has_many_ranks(model) ? kind_of_group(collective) : collective.communicator,
          collective.function, collective.bytes};
}

std::vector<CollectiveGroup> collective_groups(const Model& model) {
  std::map<CollectiveKind, std::pair<CollectiveGroup, Times>> groups;
  for (const analyzer::MatchedCollective& one : model.collectives) {
    auto& [group, times] = groups[kind_of(model, one)];
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
    if (!one.last_arriver) continue;
    ++times.last[*one.last_arriver];
    times.caused[*one.last_arriver] += wait;
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
