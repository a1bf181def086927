// SPDX-License-Identifier: Apache-2.0
// Finds groups of ranks that communicate more slowly than comparable ones, for how long, and which
// nodes they share (docs/analysis/communication.md). Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schema/generated/rows.h"

namespace dprof::analyzer {

// The time one group took for one kind of collective in one window of time.
struct GroupTransfer {
  size_t group = 0;
  int64_t window = 0;
  schema::Function function{};
  int64_t bytes = 0;
  size_t ranks = 0;
  int topology = 0;  // number of hosts, or another class; only equal ones are compared
  int64_t transfer_ns = 0;
};

// The nodes (or links, or whatever else can be at fault) that a group uses, sorted.
struct GroupNodes {
  size_t group = 0;
  std::vector<int> nodes;
};

struct SlowGroup {
  size_t group = 0;
  int64_t windows = 0;  // consecutive windows in which it was slow
  double ratio = 1;     // its median transfer / the cluster's, over those windows
  int64_t first_window = 0;
  int64_t last_window = 0;
  bool slow_before = true;  // was slow or unmeasured before the first window
};

inline constexpr size_t kFewestGroupsOfCluster = 3;  // so that the slow one alone is not the median

struct ClusterView {
  std::vector<SlowGroup> slow;   // by group
  std::vector<size_t> compared;  // all groups in a cluster large enough to compare, sorted
};

// Groups that took more than 1.10 x the median of their cluster (same function, bytes, ranks and
// topology) in at least three windows in a row, by group. Several transfers of a group in a window
// count as their median. For an even number of groups the faster of the two middle ones is the
// median, so that half of them can be slow. The excess must also be twice the spread within the
// faster half. Clusters of fewer than three groups are not judged. O(n log n).
[[nodiscard]] ClusterView compare_groups(std::span<const GroupTransfer> transfers);
[[nodiscard]] std::vector<SlowGroup> slow_groups(std::span<const GroupTransfer> transfers);

struct SlowNode {
  int node = 0;
  double score = 0;  // share of slow groups that contain it, minus share of healthy ones that do
  int64_t slow = 0;  // groups that contain it
  int64_t healthy = 0;
};

struct Localised {
  std::vector<SlowNode> suspects;  // by falling score; only nodes that a slow group contains
  // The fewest nodes such that each slow group contains one, preferring nodes that healthy groups
  // use little. Empty = no slow group.
  std::vector<int> hitting_set;
  // The fault is somewhere within these nodes: there is only one slow group, or each node of the
  // hitting set has an equally good alternative.
  bool within_only = false;
  std::vector<int> certain;  // nodes of the hitting set without an alternative
};

// Exact for up to 20 suspects, greedy beyond.
[[nodiscard]] Localised localise(std::span<const GroupNodes> groups,
                                 std::span<const size_t> slow_groups);

}  // namespace dprof::analyzer
