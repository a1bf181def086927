// SPDX-License-Identifier: Apache-2.0
// Which ranks are worth a look where there are too many to show each: whom the report names, who
// waits for them, who is far from the others, and one like most. The one choice for all pages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/view/model/model.h"

namespace dprof::view {

// With more of them a page shows a choice, and how the others are distributed.
inline constexpr size_t kMostShownRanks = 24;
[[nodiscard]] inline bool has_many_ranks(const Model& model) {
  return model.ranks.size() > kMostShownRanks;
}

// In this order; a rank is there once, for the first of its reasons.
enum class RankReason : uint8_t { kCulprit, kVictim, kWaitedFor, kSlowest, kFastest, kTypical };
[[nodiscard]] std::string_view title_of(RankReason reason);  // for people: "waits most"
[[nodiscard]] std::string_view word_of(RankReason reason);   // in the dumped state: "victim"

struct NotableRank {
  size_t index = 0;  // in Model::ranks
  int rank = 0;
  RankReason reason = RankReason::kTypical;
  // Of a culprit its own delay per step, as the report says, or where it is not its work that is
  // slow what the verdict costs (`is_cost`); of a victim what it waits per step in all; of whom
  // others wait for RankModel::waited_for; else its own delay per step, or where ranks were not
  // compared the time of its steps.
  std::optional<int64_t> ns;
  bool is_cost = false;
};

// A rank that the report holds to be a culprit.
struct Culprit {
  int rank = 0;
  std::optional<int64_t> own_delay_ns;  // per step; nullopt = it is not its work that is slow
  std::optional<int64_t> cost_ns;       // of the verdict, per step
};
// The most expensive first: of a host all of its ranks that share the verdict, the worst one first;
// of a slow interface the ranks of its host; of a hang those that are missing.
[[nodiscard]] std::vector<Culprit> culprits_of(const Model& model);

// Where the report says that a different rank is late in each step: what that costs per step, and
// which finding says so. Then no rank is a culprit for it.
struct RotatingDelay {
  int64_t cost_ns = 0;
  std::optional<size_t> finding;
};
[[nodiscard]] std::optional<RotatingDelay> rotating_delay(const Model& model);

// Culprits, of which so many at most, and one of each other reason that applies.
// O(steps * ranks).
inline constexpr size_t kMostCulprits = 8;
[[nodiscard]] std::vector<NotableRank> notable_ranks(const Model& model);

// "+8.6 ms", "costs 9.0 ms", "waits 7.2 ms"; "" = not known.
[[nodiscard]] std::string figure_of(const NotableRank& rank);

// What a rank worked beyond its peers, mean over the steps compared; nullopt = was not compared.
[[nodiscard]] std::optional<int64_t> mean_own_delay(const RankModel& rank);

// What each rank is ordered by from fastest to slowest: its mean own delay, or where ranks were not
// compared the mean length of its steps; nullopt = neither is known. In the order of the ranks.
[[nodiscard]] std::vector<std::optional<int64_t>> slowness_of(const Model& model);

}  // namespace dprof::view
