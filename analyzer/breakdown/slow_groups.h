// SPDX-License-Identifier: Apache-2.0
// Finds groups of ranks that communicate more slowly than comparable ones, for how long, and which
// nodes they have in common (docs/analysis/communication.md). Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schema/generated/rows.h"

namespace dprof::analyzer {

// How long one group took for one kind of collective in one window of time.
struct GroupTransfer {
  size_t group = 0;
  int64_t window = 0;
  schema::Function function{};
  int64_t bytes = 0;
  size_t ranks = 0;
  int topology = 0;  // hosts that it reaches over, or another class; only equals are compared
  int64_t transfer_ns = 0;
};

// The nodes (or links, or whatever might be at fault) that a group uses, sorted.
struct GroupNodes {
  size_t group = 0;
  std::vector<int> nodes;
};

struct SlowGroup {
  size_t group = 0;
  int64_t windows = 0;  // in which it was slow, one after the other
  double ratio = 1;     // its median transfer, by the cluster's; over those windows
  int64_t first_window = 0;
  int64_t last_window = 0;
  bool slow_before = true;  // nothing was measured of it before the first one, or it was slow then
};

inline constexpr size_t kFewestGroupsOfCluster = 3;  // for a median that is not the slow one's own

struct ClusterView {
  std::vector<SlowGroup> slow;   // by group
  std::vector<size_t> compared;  // all groups that were in a cluster that tells something, sorted
};

// Groups that took more than 1.10 x the median of their cluster (same function, bytes, ranks and
// topology) in at least three windows in a row, by group. Of several transfers of a group in a
// window the median counts; of an even number of groups the faster one of the middle two, so that
// half of them may be slow. The excess also has to be twice what the faster half differs by among
// itself. Clusters of fewer than three groups tell nothing. O(n log n).
[[nodiscard]] ClusterView compare_groups(std::span<const GroupTransfer> transfers);
[[nodiscard]] std::vector<SlowGroup> slow_groups(std::span<const GroupTransfer> transfers);

struct SlowNode {
  int node = 0;
  double score = 0;  // share of slow groups that contain it, less share of healthy ones that do
  int64_t slow = 0;  // groups that contain it
  int64_t healthy = 0;
};

struct Localised {
  std::vector<SlowNode>
      suspects;  // by falling score; those that no slow group contains are left out
  // Fewest nodes of which each slow group contains one, of nodes that healthy groups use as little
  // as possible. Empty = there is no slow group.
  std::vector<int> hitting_set;
  // It is somewhere within these nodes, nobody can say where: there is one slow group alone, or
  // each of the hitting set has another node that would explain the same as well.
  bool within_only = false;
  std::vector<int> certain;  // those of the hitting set that nothing else could stand for
};

// Exact for up to 20 suspects, greedy beyond.
[[nodiscard]] Localised localise(std::span<const GroupNodes> groups,
                                 std::span<const size_t> slow_groups);

}  // namespace dprof::analyzer
