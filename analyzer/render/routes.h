// SPDX-License-Identifier: Apache-2.0
// Describes the senders and receivers of messages in as few lines as possible: a pipeline is one
// chain of ranks, a server one star.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dprof::analyzer {

// From one rank to another; nullopt = not recorded.
struct Edge {
  std::optional<int> from;
  std::optional<int> to;
  auto operator<=>(const Edge&) const = default;
};

struct Route {
  std::string text;  // "ranks 0 → 1 → 2", "ranks 0–2 → rank 3", "rank 1 → rank 0"
  std::vector<size_t> edges;  // positions in the input
};

// Every edge is in exactly one route. `edges` are distinct. Stars of three or more come first, then
// chains with ascending and with descending ranks separately, so that a chain in both directions is
// two routes. O(edges log edges).
[[nodiscard]] std::vector<Route> routes_of(const std::vector<Edge>& edges);

}  // namespace dprof::analyzer
