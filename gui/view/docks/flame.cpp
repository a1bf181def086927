// SPDX-License-Identifier: Apache-2.0
#include "gui/view/docks/flame.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "gui/view/lod.h"

namespace dprof::view {
namespace {

using analyzer::Category;

constexpr uint16_t kDeepest = 1000;  // nodes below it count as their parent

class TreeBuilder {
 public:
  TreeBuilder() { tree_.nodes.emplace_back(); }

  // The child of that name, made if it is new.
  uint32_t child(uint32_t parent, std::string_view name, Category phase) {
    const auto [id, added] = names_.try_emplace(name, static_cast<uint32_t>(names_.size()));
    const uint64_t key = (uint64_t{parent} << 32U) | id->second;
    const auto [place, is_new] =
        children_.try_emplace(key, static_cast<uint32_t>(tree_.nodes.size()));
    if (is_new) {
      const auto depth = static_cast<uint16_t>(tree_.nodes[parent].depth + 1);
      tree_.nodes.push_back({.name = name, .parent = parent, .depth = depth, .phase = phase});
    }
    return place->second;
  }
  FlameNode& node(uint32_t index) { return tree_.nodes[index]; }
  FlameTree& tree() { return tree_; }

  // Siblings in the order of their times, the deepest level known.
  FlameTree finished() && {
    std::vector<FlameNode>& nodes = tree_.nodes;
    std::vector<uint32_t> order(nodes.size() - 1);
    std::iota(order.begin(), order.end(), 1U);
    std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) {
      if (nodes[a].depth != nodes[b].depth) return nodes[a].depth < nodes[b].depth;
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

// Walks one thread's events within a range, outermost first.
class ThreadWalk {
 public:
  ThreadWalk(const RankModel& rank, const analyzer::ThreadLanes& thread, Interval range,
             TreeBuilder& builder)
      : rank_(rank), thread_(thread), range_(range), builder_(builder) {
    for (const analyzer::Lane& lane : thread.depths) {
      const Slices slices = slices_of(lane);
      next_.push_back(first_ending_after(slices, range.begin));
      end_.push_back(next_.back() + count_in(slices, range));
    }
  }

  void add(uint32_t parent, size_t depth, TraceNs until) {
    if (depth >= next_.size()) return;
    const analyzer::Lane& lane = thread_.depths[depth];
    for (size_t& i = next_[depth]; i < end_[depth] && lane.start_ns[i] < until.ns;) {
      const TraceNs begin{lane.start_ns[i]};
      const TraceNs end = begin + DurationNs{lane.duration_ns[i]};
      const Interval seen{std::max(begin, range_.begin), std::min(end, range_.end)};
      const std::string& name = rank_.lanes.names[static_cast<size_t>(lane.name[i])];
      uint32_t node = parent;
      ++builder_.tree().events;
      if (builder_.node(parent).depth < kDeepest) {
        node = builder_.child(parent, name, static_cast<Category>(lane.phase[i]));
        builder_.node(node).total_ns += seen.length().ns;
        builder_.node(node).self_ns += seen.length().ns;
        ++builder_.node(node).count;
        builder_.node(parent).self_ns -= seen.length().ns;
      }
      ++i;
      add(node, depth + 1, end);
    }
  }

 private:
  const RankModel& rank_;
  const analyzer::ThreadLanes& thread_;
  Interval range_;
  TreeBuilder& builder_;
  std::vector<size_t> next_;
  std::vector<size_t> end_;
};

// Each node's own time, told by the node first and its callers below it.
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
      below = builder.child(below, from.name, from.phase);
      builder.node(below).total_ns += own_ns;
      builder.node(below).count += tree.nodes[i].count;
      if (from.parent == 0) builder.node(below).self_ns += own_ns;
    }
  }
  return std::move(builder).finished();
}

}  // namespace

FlameTree flame_of(const Model& model, const EventQuery& query, FlameOrder order) {
  TreeBuilder builder;
  for (const RankModel& rank : model.ranks) {
    if (!query.asks_for(rank.rank)) continue;
    for (const analyzer::ThreadLanes& thread : rank.lanes.threads) {
      if (thread.table != "collective")
        ThreadWalk(rank, thread, query.range, builder).add(0, 0, query.range.end);
    }
  }
  FlameNode& root = builder.node(0);
  root.total_ns = -root.self_ns;
  root.self_ns = 0;
  FlameTree tree = std::move(builder).finished();
  return order == FlameOrder::kTopDown ? tree : turned_over(tree);
}

}  // namespace dprof::view
