// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/slow_groups.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kMostForExact = 20;

using Cluster = std::tuple<schema::Function, int64_t, size_t, int>;
using ByWindow = std::map<int64_t, std::vector<double>>;

// Ratios to the cluster's median, by group and window, over all clusters.
std::map<size_t, ByWindow> ratios_of(std::span<const GroupTransfer> transfers) {
  std::map<std::pair<Cluster, int64_t>, std::map<size_t, std::vector<int64_t>>> cells;
  for (const GroupTransfer& t : transfers) {
    cells[{Cluster{t.function, t.bytes, t.ranks, t.topology}, t.window}][t.group].push_back(
        t.transfer_ns);
  }
  std::map<size_t, ByWindow> ratios;
  for (const auto& [cell, of_groups] : cells) {
    if (of_groups.size() < kFewestGroupsOfCluster) continue;
    std::vector<int64_t> medians;
    for (const auto& [group, all] : of_groups) medians.push_back(median_ns(all));
    const auto usual = static_cast<double>(median_ns(medians));
    if (usual <= 0) continue;
    size_t i = 0;
    for (const auto& [group, all] : of_groups)
      ratios[group][cell.second].push_back(static_cast<double>(medians[i++]) / usual);
  }
  return ratios;
}

// The longest run of slow windows; those in which nothing was measured do not end it.
SlowGroup longest_run(size_t group, const ByWindow& windows) {
  SlowGroup best{.group = group};
  std::vector<double> run;
  for (const auto& [window, ratios] : windows) {
    const double ratio = median(ratios);
    if (ratio <= kSlowRatio) {
      run.clear();
      continue;
    }
    run.push_back(ratio);
    if (static_cast<int64_t>(run.size()) > best.windows) {
      best.windows = static_cast<int64_t>(run.size());
      best.ratio = median(run);
    }
  }
  return best;
}

// Picks from suspects those of `mask`.
bool hits_all(const std::vector<uint32_t>& suspects_of_group, uint32_t mask) {
  return std::ranges::all_of(suspects_of_group, [&](uint32_t s) { return (s & mask) != 0; });
}

class HittingSet {
 public:
  HittingSet(const std::vector<Suspect>& suspects, std::vector<std::vector<int>> groups)
      : suspects_(suspects), groups_(std::move(groups)) {}

  std::vector<int> run() const { return suspects_.size() <= kMostForExact ? exact() : greedy(); }

 private:
  [[nodiscard]] std::vector<int> exact() const {
    std::vector<uint32_t> of_group;
    for (const std::vector<int>& nodes : groups_) {
      uint32_t mask = 0;
      for (size_t i = 0; i < suspects_.size(); ++i) {
        if (std::ranges::binary_search(nodes, suspects_[i].node)) mask |= uint32_t{1} << i;
      }
      of_group.push_back(mask);
    }
    uint32_t best = 0;
    double best_score = 0;
    for (uint32_t mask = 1; mask < uint32_t{1} << suspects_.size(); ++mask) {
      const int size = std::popcount(mask);
      if (best != 0 && size > std::popcount(best)) continue;
      if (!hits_all(of_group, mask)) continue;
      const double score = score_of(mask);
      if (best != 0 && size == std::popcount(best) && score <= best_score) continue;
      best = mask;
      best_score = score;
    }
    std::vector<int> nodes;
    for (size_t i = 0; i < suspects_.size(); ++i) {
      if ((best >> i & 1U) != 0) nodes.push_back(suspects_[i].node);
    }
    std::ranges::sort(nodes);
    return nodes;
  }

  [[nodiscard]] double score_of(uint32_t mask) const {
    double sum = 0;
    for (size_t i = 0; i < suspects_.size(); ++i) {
      if ((mask >> i & 1U) != 0) sum += suspects_[i].score;
    }
    return sum;
  }

  [[nodiscard]] std::vector<int> greedy() const {
    std::vector<std::vector<int>> left = groups_;
    std::vector<int> nodes;
    while (!left.empty()) {
      const auto hit = [&](const Suspect& s) {
        return std::ranges::count_if(left, [&](const std::vector<int>& group) {
          return std::ranges::binary_search(group, s.node);
        });
      };
      // Of equals the first: suspects stand by their score.
      const Suspect& most = *std::ranges::max_element(suspects_, {}, hit);
      if (hit(most) == 0) break;
      nodes.push_back(most.node);
      std::erase_if(left, [&](const std::vector<int>& group) {
        return std::ranges::binary_search(group, most.node);
      });
    }
    std::ranges::sort(nodes);
    return nodes;
  }

  const std::vector<Suspect>& suspects_;
  std::vector<std::vector<int>> groups_;
};

}  // namespace

std::vector<SlowGroup> slow_groups(std::span<const GroupTransfer> transfers) {
  std::vector<SlowGroup> slow;
  for (const auto& [group, windows] : ratios_of(transfers)) {
    const SlowGroup one = longest_run(group, windows);
    if (one.windows >= kFewestSlowWindows) slow.push_back(one);
  }
  return slow;
}

Localised localise(std::span<const GroupNodes> groups, std::span<const size_t> slow_groups) {
  const auto is_slow = [&](size_t group) { return std::ranges::count(slow_groups, group) != 0; };
  std::map<int, std::pair<int64_t, int64_t>> seen;  // by node: slow and healthy groups with it
  std::vector<std::vector<int>> slow;
  int64_t healthy = 0;
  for (const GroupNodes& one : groups) {
    if (is_slow(one.group)) {
      slow.push_back(one.nodes);
    } else {
      ++healthy;
    }
    for (const int node : one.nodes) {
      auto& [with_slow, with_healthy] = seen[node];
      ++(is_slow(one.group) ? with_slow : with_healthy);
    }
  }
  Localised found;
  if (slow.empty()) return found;
  for (const auto& [node, count] : seen) {
    if (count.first == 0) continue;
    const double of_healthy =
        healthy == 0 ? 0 : static_cast<double>(count.second) / static_cast<double>(healthy);
    found.suspects.push_back(
        {node, static_cast<double>(count.first) / static_cast<double>(slow.size()) - of_healthy});
  }
  std::ranges::stable_sort(found.suspects, std::ranges::greater(), &Suspect::score);
  if (slow.size() == 1) {
    found.within_only = true;
    found.hitting_set = slow.front();
    return found;
  }
  found.hitting_set = HittingSet(found.suspects, std::move(slow)).run();
  return found;
}

}  // namespace dprof::analyzer
