// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/slow_groups.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "analyzer/vocabulary/thresholds.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kMostForExact = 20;

using Cluster = std::tuple<schema::Function, int64_t, size_t, int>;

// A group's transfers relative to its cluster's: near 1 or below, if nothing is wrong.
struct Ratio {
  double value = 1;
  double needed = 1;  // the least ratio that counts as slow
};
using ByWindow = std::map<int64_t, std::vector<Ratio>>;

// Transfers can be delayed, but not sped up: the faster half shows the usual.
double usual_of(std::vector<int64_t> medians) {
  std::ranges::sort(medians);
  return static_cast<double>(medians[(medians.size() - 1) / 2]);
}

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
    const double usual = usual_of(medians);
    if (usual <= 0) continue;
    const double fastest = static_cast<double>(std::ranges::min(medians)) / usual;
    const double needed =
        std::max<double>(limit::kSlowRatio, 1 + limit::kTimesSpread * (1 - fastest));
    size_t i = 0;
    for (const auto& [group, all] : of_groups)
      ratios[group][cell.second].push_back({static_cast<double>(medians[i++]) / usual, needed});
  }
  return ratios;
}

// The longest run of slow windows; windows without a measurement do not end it.
SlowGroup longest_run(size_t group, const ByWindow& windows) {
  SlowGroup best{.group = group};
  std::vector<double> run;
  int64_t first = 0;
  for (const auto& [window, ratios] : windows) {
    std::vector<double> values;
    std::vector<double> needed;
    for (const Ratio& ratio : ratios) {
      values.push_back(ratio.value);
      needed.push_back(ratio.needed);
    }
    const double ratio = median(std::move(values));
    if (ratio <= median(std::move(needed))) {
      run.clear();
      continue;
    }
    if (run.empty()) first = window;
    run.push_back(ratio);
    if (static_cast<int64_t>(run.size()) > best.windows) {
      best = {.group = group,
              .windows = static_cast<int64_t>(run.size()),
              .ratio = median(run),
              .first_window = first,
              .last_window = window,
              .slow_before = first == windows.begin()->first};
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
  HittingSet(const std::vector<SlowNode>& suspects, std::vector<std::vector<int>> groups)
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
      const auto hit = [&](const SlowNode& s) {
        return std::ranges::count_if(left, [&](const std::vector<int>& group) {
          return std::ranges::binary_search(group, s.node);
        });
      };
      // The first of equals: suspects are sorted by score.
      const SlowNode& most = *std::ranges::max_element(suspects_, {}, hit);
      if (hit(most) == 0) break;
      nodes.push_back(most.node);
      std::erase_if(left, [&](const std::vector<int>& group) {
        return std::ranges::binary_search(group, most.node);
      });
    }
    std::ranges::sort(nodes);
    return nodes;
  }

  const std::vector<SlowNode>& suspects_;
  std::vector<std::vector<int>> groups_;
};

// Whether another node would explain the same slow groups, and is no less likely.
bool has_a_double(const SlowNode& node, const std::vector<SlowNode>& suspects,
                  const std::vector<std::vector<int>>& slow) {
  const auto explains = [&](const SlowNode& other) {
    return std::ranges::all_of(slow, [&](const std::vector<int>& group) {
      return !std::ranges::binary_search(group, node.node) ||
             std::ranges::binary_search(group, other.node);
    });
  };
  return std::ranges::any_of(suspects, [&](const SlowNode& other) {
    return other.node != node.node && other.healthy <= node.healthy && explains(other);
  });
}

}  // namespace

ClusterView compare_groups(std::span<const GroupTransfer> transfers) {
  ClusterView view;
  for (const auto& [group, windows] : ratios_of(transfers)) {
    view.compared.push_back(group);
    const SlowGroup one = longest_run(group, windows);
    if (static_cast<size_t>(one.windows) >= limit::kFewestSlowWindows) view.slow.push_back(one);
  }
  return view;
}

std::vector<SlowGroup> slow_groups(std::span<const GroupTransfer> transfers) {
  return compare_groups(transfers).slow;
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
        {node, static_cast<double>(count.first) / static_cast<double>(slow.size()) - of_healthy,
         count.first, count.second});
  }
  std::ranges::stable_sort(found.suspects, std::ranges::greater(), &SlowNode::score);
  if (slow.size() == 1) {
    found.within_only = true;
    found.hitting_set = slow.front();
    return found;
  }
  found.hitting_set = HittingSet(found.suspects, slow).run();
  for (const SlowNode& suspect : found.suspects) {
    // Nodes that healthy groups use as much as slow ones explain nothing.
    if (!std::ranges::binary_search(found.hitting_set, suspect.node) || suspect.slow < 2 ||
        suspect.score <= 0 || has_a_double(suspect, found.suspects, slow))
      continue;
    found.certain.push_back(suspect.node);
  }
  std::ranges::sort(found.certain);
  found.within_only = found.certain.empty();
  return found;
}

}  // namespace dprof::analyzer
