// SPDX-License-Identifier: Apache-2.0
// Collectives of one kind together: the same function on the same communicator with as many bytes.
// Of many ranks communicators of one kind count as one: "data_*" for data_0 to data_7, else as many
// as have so many members.
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
  std::optional<int64_t> bytes;  // as its largest member says; nullopt = not known
  friend auto operator<=>(const CollectiveKind&, const CollectiveKind&) = default;
};
[[nodiscard]] CollectiveKind kind_of(const Model& model,
                                     const analyzer::MatchedCollective& collective);

// "data_*" of "data_3"; "" of a name without a number at its end, or that is one.
[[nodiscard]] std::string family_of(std::string_view communicator);

struct CollectiveGroup {
  CollectiveKind kind;
  int64_t count = 0;
  int64_t incomplete = 0;  // of them; they count in nothing below
  size_t most_members = 0;
  std::optional<int64_t> median_spread_ns;  // of those to which two members came or more
  int64_t median_wait_ns = 0;               // of the longest wait in each
  int64_t median_transfer_ns = 0;
  int64_t total_ns = 0;             // longest waits and transfers
  std::optional<int> last_arriver;  // who was it most often; of several the lowest rank
  int64_t times_last = 0;
  // For whom the others waited longest in all, as the last to come; of several the lowest rank.
  std::optional<int> waited_for;
  int64_t waited_for_ns = 0;  // the longest wait of each collective, added up
};

// The most expensive in all first. O(n log n + members).
[[nodiscard]] std::vector<CollectiveGroup> collective_groups(const Model& model);

}  // namespace dprof::view
