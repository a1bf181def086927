// SPDX-License-Identifier: Apache-2.0
#include "gui/view/figures/flame.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "analyzer/lanes/lane_walk.h"
#include "gui/view/model/names.h"

namespace dprof::view {
namespace {

using analyzer::Category;

constexpr int16_t kDeepest = 1000;  // deeper nodes are merged into their parent

class TreeBuilder {
 public:
  TreeBuilder() { tree_.nodes.emplace_back(); }

  // The child with that name, created if necessary.
  uint32_t child(uint32_t parent, std::string_view name, Category phase, int64_t begin_ns) {
    const auto [id, added] = names_.try_emplace(name, static_cast<uint32_t>(names_.size()));
    const uint64_t key = (uint64_t{parent} << 32U) | id->second;
    const auto [place, is_new] =
        children_.try_emplace(key, static_cast<uint32_t>(tree_.nodes.size()));
    if (is_new) {
      const auto depth = static_cast<int16_t>(tree_.nodes[parent].depth + 1);
      tree_.nodes.push_back(
          {.name = name, .parent = parent, .depth = depth, .phase = phase, .first_ns = begin_ns});
    }
    int64_t& first_ns = tree_.nodes[place->second].first_ns;
    first_ns = std::min(first_ns, begin_ns);
    return place->second;
  }
  FlameNode& node(uint32_t index) { return tree_.nodes[index]; }
  FlameTree& tree() { return tree_; }

  // Sorts siblings, the most expensive first or the earliest; finds the deepest level.
  FlameTree finished(bool by_time = false) && {
    std::vector<FlameNode>& nodes = tree_.nodes;
    std::vector<uint32_t> order(nodes.size() - 1);
    std::iota(order.begin(), order.end(), 1U);
    std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) {
      if (nodes[a].depth != nodes[b].depth) return nodes[a].depth < nodes[b].depth;
      if (by_time) return nodes[a].first_ns < nodes[b].first_ns;
      return nodes[a].total_ns > nodes[b].total_ns;
    });
    std::vector<int64_t> used(nodes.size());
    for (const uint32_t index : order) {
      FlameNode& node = nodes[index];
      node.offset_ns = nodes[node.parent].offset_ns + used[node.parent];
      used[node.parent] += node.total_ns;
      tree_.depth = std::max<int>(tree_.depth, node.depth);
    }
    return std::move(tree_);
  }

 private:
  FlameTree tree_;
  std::unordered_map<std::string_view, uint32_t> names_;
  std::unordered_map<uint64_t, uint32_t> children_;
};

// Adds one thread's events, clipped to the range.
void add_thread(const analyzer::RankLanes& lanes, const analyzer::ThreadLanes& thread,
                Interval range, TreeBuilder& builder) {
  analyzer::walk_nested<uint32_t>(
      thread, range, 0, [&](const analyzer::Lane& lane, size_t slice, uint32_t parent) {
        ++builder.tree().events;
        if (builder.node(parent).depth >= kDeepest) return parent;
        const TraceNs begin{lane.start_ns[slice]};
        const TraceNs end = begin + DurationNs{lane.duration_ns[slice]};
        const DurationNs seen = std::min(end, range.end) - std::max(begin, range.begin);
        const uint32_t node =
            builder.child(parent, lanes.names[static_cast<size_t>(lane.name[slice])],
                          static_cast<Category>(lane.phase[slice]), begin.ns);
        builder.node(node).total_ns += seen.ns;
        builder.node(node).self_ns += seen.ns;
        ++builder.node(node).count;
        builder.node(parent).self_ns -= seen.ns;
        return node;
      });
}

// Each node's own time, with the node on top and its callers below.
FlameTree turned_over(const FlameTree& tree) {
  TreeBuilder builder;
  builder.tree().events = tree.events;
  builder.node(0).total_ns = tree.nodes.front().total_ns;
  for (size_t i = 1; i < tree.nodes.size(); ++i) {
    const int64_t own_ns = tree.nodes[i].self_ns;
    if (own_ns <= 0) continue;
    uint32_t below = 0;
    for (auto at = static_cast<uint32_t>(i); at != 0; at = tree.nodes[at].parent) {
      const FlameNode& from = tree.nodes[at];
      below = builder.child(below, from.name, from.phase, from.first_ns);
      builder.node(below).total_ns += own_ns;
      builder.node(below).count += tree.nodes[i].count;
      if (from.parent == 0) builder.node(below).self_ns += own_ns;
    }
  }
  return std::move(builder).finished();
}

void add(const FlameNode& from, FlameNode& to) {
  to.total_ns += from.total_ns;
  to.self_ns += from.self_ns;
  to.count += from.count;
}

// The outermost nodes of that name with everything below them; above, their callers.
FlameTree sandwich_of(const FlameTree& tree, std::string_view name) {
  TreeBuilder below;
  TreeBuilder above;
  std::vector<uint32_t> places(tree.nodes.size());  // in `below`; 0 = not there
  for (size_t i = 1; i < tree.nodes.size(); ++i) {
    const FlameNode& node = tree.nodes[i];
    const uint32_t parent = places[node.parent];
    if (parent == 0 && !name_matches(name, node.name)) continue;
    places[i] = below.child(parent, node.name, node.phase, node.first_ns);
    add(node, below.node(places[i]));
    if (parent != 0) continue;
    below.node(0).total_ns += node.total_ns;
    below.tree().events += node.count;
    uint32_t at = 0;
    for (uint32_t caller = node.parent; caller != 0; caller = tree.nodes[caller].parent) {
      const FlameNode& from = tree.nodes[caller];
      at = above.child(at, from.name, from.phase, from.first_ns);
      above.node(at).total_ns += node.total_ns;
      above.node(at).count += node.count;
    }
  }
  FlameTree sandwich = std::move(below).finished();
  const FlameTree callers = std::move(above).finished();
  sandwich.callers = callers.depth;
  const auto base = static_cast<uint32_t>(sandwich.nodes.size() - 1);
  for (size_t i = 1; i < callers.nodes.size(); ++i) {
    FlameNode node = callers.nodes[i];
    node.depth = static_cast<int16_t>(-node.depth);
    if (node.parent != 0) node.parent += base;
    sandwich.nodes.push_back(node);
  }
  return sandwich;
}

}  // namespace

FlameTree flame_of(const RunEvents& events, const EventQuery& query, FlameOrder order) {
  TreeBuilder builder;
  for (const LoadedRank& rank : events) {
    if (!query.asks_for(rank.rank)) continue;
    const analyzer::RankLanes& lanes = rank.events->lanes;
    for (const analyzer::ThreadLanes& thread : lanes.threads) {
      if (thread.table == "host_range") add_thread(lanes, thread, query.range, builder);
    }
  }
  FlameNode& root = builder.node(0);
  root.total_ns = -root.self_ns;
  root.self_ns = 0;
  FlameTree tree = std::move(builder).finished(order == FlameOrder::kByTime);
  switch (order) {
    case FlameOrder::kTopDown:
    case FlameOrder::kByTime:
      break;
    case FlameOrder::kBottomUp:
      return turned_over(tree);
    case FlameOrder::kSandwich:
      return sandwich_of(tree, query.name);
  }
  return tree;
}

}  // namespace dprof::view
