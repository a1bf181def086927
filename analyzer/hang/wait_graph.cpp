// SPDX-License-Identifier: Apache-2.0
#include "analyzer/hang/wait_graph.h"

#include <algorithm>
#include <map>

namespace dprof::analyzer {
namespace {

using Edges = std::vector<std::vector<uint32_t>>;

// Strongly connected components (Tarjan), without recursion. Returns each node's component.
class Components {
 public:
  explicit Components(const Edges& edges) : edges_(edges) {}

  std::vector<uint32_t> run() {
    const size_t nodes = edges_.size();
    order_.assign(nodes, kUnseen);
    low_.assign(nodes, 0);
    component_.assign(nodes, kUnseen);
    for (uint32_t node = 0; node < nodes; ++node) {
      if (order_[node] == kUnseen) visit(node);
    }
    return std::move(component_);
  }
  [[nodiscard]] uint32_t count() const { return count_; }

 private:
  static constexpr uint32_t kUnseen = UINT32_MAX;
  struct Frame {
    uint32_t node;
    size_t next;
  };

  void enter(uint32_t node) {
    order_[node] = low_[node] = next_order_++;
    stack_.push_back(node);
    frames_.push_back({node, 0});
  }

  void visit(uint32_t root) {
    enter(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const uint32_t node = frame.node;
      if (frame.next < edges_[node].size()) {
        const uint32_t to = edges_[node][frame.next++];
        if (order_[to] == kUnseen) {
          enter(to);
        } else if (component_[to] == kUnseen) {
          low_[node] = std::min(low_[node], order_[to]);
        }
        continue;
      }
      frames_.pop_back();
      if (!frames_.empty())
        low_[frames_.back().node] = std::min(low_[frames_.back().node], low_[node]);
      if (low_[node] == order_[node]) close(node);
    }
  }

  void close(uint32_t node) {
    uint32_t member = 0;
    do {
      member = stack_.back();
      stack_.pop_back();
      component_[member] = count_;
    } while (member != node);
    ++count_;
  }

  const Edges& edges_;
  std::vector<uint32_t> order_;
  std::vector<uint32_t> low_;
  std::vector<uint32_t> component_;
  std::vector<uint32_t> stack_;
  std::vector<Frame> frames_;
  uint32_t next_order_ = 0;
  uint32_t count_ = 0;
};

class GraphBuilder {
 public:
  GraphBuilder(const CollectiveProgress& progress, const Matching& matching)
      : progress_(progress), matching_(matching) {}

  WaitGraph run() {
    graph_.stuck_in.resize(progress_.digests().size());
    for (size_t d = 0; d < graph_.stuck_in.size(); ++d) {
      for (const OpenCall& front : progress_.fronts(d)) {
        const size_t call = call_of(front);
        if (call == kNoInstance) continue;
        graph_.stuck_in[d].push_back(call);
        graph_.calls[call].inside.push_back(d);
      }
    }
    for (StuckCall& call : graph_.calls) fill(call);
    find_sinks();
    return std::move(graph_);
  }

 private:
  size_t call_of(const OpenCall& front) {
    if (!front.instance && !front.message) return kNoInstance;
    const auto [entry, is_new] =
        known_.try_emplace(std::pair(front.instance, front.message), graph_.calls.size());
    if (is_new) {
      StuckCall call;
      call.instance = front.instance;
      call.message = front.message;
      graph_.calls.push_back(std::move(call));
    }
    return entry->second;
  }

  void fill(StuckCall& call) {
    if (call.instance) {
      const Instance& instance = matching_.instances[*call.instance];
      for (const int rank : matching_.groups[instance.group].members)
        sort_in(call, rank, progress_.state_of(instance, rank));
    } else {
      const Message& message = matching_.messages[*call.message];
      for (const std::optional<int>& rank : {message.from, message.to}) {
        if (rank) sort_in(call, *rank, progress_.state_of(message, *rank));
      }
    }
  }

  void sort_in(StuckCall& call, int rank, MemberState state) const {
    const std::optional<size_t> digest = progress_.digest_of(rank);
    if (state == MemberState::kNoData) call.no_data.push_back(rank);
    if (!digest) return;
    if (state == MemberState::kNotCalled) call.not_called.push_back(*digest);
    if (state == MemberState::kQueued) call.queued.push_back(*digest);
    if (state == MemberState::kDone) call.done.push_back(*digest);
  }

  // At least as many others have finished it, so all had arrived: the rank is in it for a reason of
  // its own.
  [[nodiscard]] bool is_left_alone(size_t digest) const {
    return std::ranges::any_of(graph_.stuck_in[digest], [&](size_t c) {
      const StuckCall& call = graph_.calls[c];
      return call.done.size() >= call.inside.size() && call.not_called.empty() && call.instance &&
             is_synchronising(matching_.instances[*call.instance].function);
    });
  }

  void find_sinks() {
    const size_t ranks = graph_.stuck_in.size();
    Edges edges(ranks + graph_.calls.size());
    std::vector<bool> awaited(ranks);
    for (size_t c = 0; c < graph_.calls.size(); ++c) {
      const StuckCall& call = graph_.calls[c];
      std::vector<uint32_t>& to = edges[ranks + c];
      for (const auto* members : {&call.not_called, &call.queued}) {
        for (const size_t d : *members) {
          to.push_back(static_cast<uint32_t>(d));
          awaited[d] = true;
        }
      }
      for (const size_t d : call.inside) {
        // A rank whose call is queued waits for earlier work, not for other ranks.
        if (std::ranges::count(call.queued, d) != 0) continue;
        edges[d].push_back(static_cast<uint32_t>(ranks + c));
      }
    }
    Components components(edges);
    const std::vector<uint32_t> component = components.run();
    std::vector<bool> waits(components.count());
    std::vector<std::vector<size_t>> members(components.count());
    for (uint32_t node = 0; node < edges.size(); ++node) {
      for (const uint32_t to : edges[node]) {
        // A call that waits for no rank explains nothing: its ranks are then ends themselves.
        const bool is_end = to >= ranks && edges[to].empty();
        if (component[to] != component[node] && !is_end) waits[component[node]] = true;
      }
      if (node < ranks) members[component[node]].push_back(node);
    }
    for (uint32_t c = 0; c < members.size(); ++c) {
      if (waits[c] || members[c].empty()) continue;
      const bool circle = members[c].size() > 1;
      if (circle || is_culprit(members[c].front(), awaited)) graph_.sinks.push_back(members[c]);
    }
    std::ranges::sort(graph_.sinks);
  }

  // A single end of the graph: others wait for it, and it is not in a call that all have reached
  // (that points to the network), unless the others have finished that call.
  [[nodiscard]] bool is_culprit(size_t digest, const std::vector<bool>& awaited) const {
    if (!awaited[digest]) return false;  // perhaps only its trace ended there
    if (is_left_alone(digest)) return true;
    return std::ranges::all_of(graph_.stuck_in[digest], [&](size_t c) {
      return std::ranges::count(graph_.calls[c].queued, digest) != 0;
    });
  }

  const CollectiveProgress& progress_;
  const Matching& matching_;
  WaitGraph graph_;
  std::map<std::pair<std::optional<size_t>, std::optional<size_t>>, size_t> known_;
};

}  // namespace

WaitGraph wait_graph_of(const CollectiveProgress& progress, const Matching& matching) {
  return GraphBuilder(progress, matching).run();
}

}  // namespace dprof::analyzer
