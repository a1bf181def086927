// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyzer/render/layout.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kStar = 3;
constexpr size_t kLongChain = 6;

std::string rank_text(const std::optional<int>& rank, std::string_view otherwise) {
  return rank ? fmt::format("rank {}", *rank) : std::string(otherwise);
}

// "ranks 0 → 1 → 2"; for long ones of consecutive ranks only the ends.
std::string chain_text(const std::vector<int>& ranks) {
  if (ranks.size() == 2) return fmt::format("rank {} → rank {}", ranks[0], ranks[1]);
  const int by = ranks[1] - ranks[0];
  bool even = true;
  for (size_t i = 1; i < ranks.size(); ++i) even = even && ranks[i] - ranks[i - 1] == by;
  if (even && ranks.size() > kLongChain)
    return fmt::format("ranks {} → {} → … → {}", ranks[0], ranks[1], ranks.back());
  std::string text = fmt::format("ranks {}", ranks[0]);
  for (size_t i = 1; i < ranks.size(); ++i) text += fmt::format(" → {}", ranks[i]);
  return text;
}

class Router {
 public:
  explicit Router(const std::vector<Edge>& edges) : edges_(edges) {}

  std::vector<Route> run() {
    std::vector<size_t> up;
    std::vector<size_t> down;
    std::vector<size_t> left;
    for (size_t e = 0; e < edges_.size(); ++e) {
      const Edge& edge = edges_[e];
      if (edge.from && edge.to) {
        left.push_back(e);
      } else {
        routes_.push_back(
            {fmt::format("{} → {}", rank_text(edge.from, "any"), rank_text(edge.to, "unknown")),
             {e}});
      }
    }
    take_stars(left, kStar);
    for (const size_t e : left) (*edges_[e].from < *edges_[e].to ? up : down).push_back(e);
    for (std::vector<size_t>* one_way : {&up, &down}) {
      take_stars(*one_way, 2);
      take_chains(*one_way);
    }
    return std::move(routes_);
  }

 private:
  // Removes stars of at least `least` edges from `left`: first those to, then those from one rank.
  void take_stars(std::vector<size_t>& left, size_t least) {
    for (const bool inwards : {true, false}) {
      std::map<int, std::vector<size_t>> around;
      for (const size_t e : left) around[inwards ? *edges_[e].to : *edges_[e].from].push_back(e);
      left.clear();
      for (auto& [hub, edges] : around) {
        if (edges.size() < least) {
          left.insert(left.end(), edges.begin(), edges.end());
          continue;
        }
        std::vector<int> others;
        for (const size_t e : edges) others.push_back(inwards ? *edges_[e].from : *edges_[e].to);
        const std::string hub_text = fmt::format("rank {}", hub);
        routes_.push_back({inwards ? fmt::format("{} → {}", ranks_text(others), hub_text)
                                   : fmt::format("{} → {}", hub_text, ranks_text(others)),
                           std::move(edges)});
      }
    }
  }

  // All edges go one way, at most one from and one to each rank: each connected part is a chain.
  void take_chains(const std::vector<size_t>& left) {
    std::map<int, size_t> from;
    std::map<int, size_t> to;
    for (const size_t e : left) {
      from[*edges_[e].from] = e;
      to[*edges_[e].to] = e;
    }
    for (const auto& [begin, first] : from) {
      if (to.contains(begin)) continue;
      std::vector<int> ranks = {begin};
      Route route;
      for (auto next = from.find(begin); next != from.end(); next = from.find(ranks.back())) {
        route.edges.push_back(next->second);
        ranks.push_back(*edges_[next->second].to);
      }
      route.text = chain_text(ranks);
      routes_.push_back(std::move(route));
    }
  }

  const std::vector<Edge>& edges_;
  std::vector<Route> routes_;
};

}  // namespace

std::vector<Route> routes_of(const std::vector<Edge>& edges) { return Router(edges).run(); }

}  // namespace dprof::analyzer
