// SPDX-License-Identifier: Apache-2.0
// Collectives grouped by kind: the same function on the same communicator with the same size. With
// many ranks, communicators of one kind count as one: "data_*" for data_0 to data_7, otherwise all
// with the same number of members.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/view/model/model.h"

namespace dprof::view {

struct CollectiveKind {
  std::string communicator;
  schema::Function function{};
  std::optional<int64_t> bytes;  // its largest member's figure; nullopt = not known
  friend auto operator<=>(const CollectiveKind&, const CollectiveKind&) = default;
};
[[nodiscard]] CollectiveKind kind_of(const Model& model,
                                     const analyzer::MatchedCollective& collective);

// "data_*" of "data_3"; "" for a name without a trailing number, or that is only a number.
[[nodiscard]] std::string family_of(std::string_view communicator);

struct CollectiveGroup {
  CollectiveKind kind;
  int64_t count = 0;
  int64_t incomplete = 0;  // excluded from everything below
  size_t most_members = 0;
  std::optional<int64_t> median_spread_ns;  // those to which at least two members came
  int64_t median_wait_ns = 0;               // sum of the longest wait of each
  int64_t median_transfer_ns = 0;
  int64_t total_ns = 0;             // longest waits and transfers
  std::optional<int> last_arriver;  // the most frequent one; of equals the lowest rank
  int64_t times_last = 0;
  // The rank for which the others waited longest in total, as the last to arrive; of equals the
  // lowest.
  std::optional<int> waited_for;
  int64_t waited_for_ns = 0;  // sum of each collective's longest wait
};

// Highest total cost first. O(n log n + members).
[[nodiscard]] std::vector<CollectiveGroup> collective_groups(const Model& model);

}  // namespace dprof::view
