// SPDX-License-Identifier: Apache-2.0
// Which groups of ranks communicate slower than comparable ones, for how long, and which nodes they
// have in common (analysis.md 5.5). Pure functions.
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
  int topology = 0;  // 0 = within one node, 1 = across nodes; only equals are compared
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
};

inline constexpr double kSlowRatio = 1.10;
inline constexpr int64_t kFewestSlowWindows = 3;
inline constexpr size_t kFewestGroupsOfCluster = 3;  // for a median that is not the slow one's own

// Groups that took more than 1.10 x the median of their cluster (same function, bytes, ranks and
// topology) in at least three windows in a row, by group. Of several transfers of a group in a
// window the median counts. Clusters of fewer than three groups tell nothing. O(n log n).
[[nodiscard]] std::vector<SlowGroup> slow_groups(std::span<const GroupTransfer> transfers);

struct Suspect {
  int node = 0;
  double score = 0;  // share of slow groups that contain it, less share of healthy ones that do
};

struct Localised {
  std::vector<Suspect>
      suspects;  // by falling score; those that no slow group contains are left out
  // Fewest nodes of which each slow group contains one, of nodes that healthy groups use as little
  // as possible. Empty = there is no slow group.
  std::vector<int> hitting_set;
  // One slow group alone: it is somewhere within these nodes, nobody can say where.
  bool within_only = false;
};

// Exact for up to 20 suspects, greedy beyond.
[[nodiscard]] Localised localise(std::span<const GroupNodes> groups,
                                 std::span<const size_t> slow_groups);

}  // namespace dprof::analyzer
