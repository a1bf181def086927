// SPDX-License-Identifier: Apache-2.0
// The ranks worth a look if there are too many to show each: those that the report names,
// those that wait for them, outliers, and a typical one. All pages use this choice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/view/model/model.h"

namespace dprof::view {

// With more ranks a page shows a selection, and the distribution of the others.
inline constexpr size_t kMostShownRanks = 24;
[[nodiscard]] inline bool has_many_ranks(const Model& model) {
  return model.ranks.size() > kMostShownRanks;
}

// In this order; a rank appears once, with the first reason that applies.
enum class RankReason : uint8_t { kCulprit, kVictim, kWaitedFor, kSlowest, kFastest, kTypical };
[[nodiscard]] std::string_view title_of(RankReason reason);  // for people: "waits most"
[[nodiscard]] std::string_view word_of(RankReason reason);   // in the dumped state: "victim"

struct NotableRank {
  size_t index = 0;  // in Model::ranks
  int rank = 0;
  RankReason reason = RankReason::kTypical;
  // For a culprit: its own delay per step, as in the report, or if its own work is not slow, the
  // verdict's cost (`is_cost`). For a victim: its total wait per step. For a rank that others wait
  // for: RankModel::waited_for. Otherwise its own delay per step or, if ranks were not compared,
  // its step time.
  std::optional<int64_t> ns;
  bool is_cost = false;
};

// A rank that the report names as a culprit.
struct Culprit {
  int rank = 0;
  std::optional<int64_t> own_delay_ns;  // per step; nullopt = its own work is not slow
  std::optional<int64_t> cost_ns;       // of the verdict, per step
};
// The most expensive first. For a host: all its ranks that share the verdict, the worst one first;
// for a slow interface: the ranks of its host; for a hang: the missing ranks.
[[nodiscard]] std::vector<Culprit> culprits_of(const Model& model);

// If the report says that a different rank is late each time: the cost per step, and the
// finding. In that case no rank is a culprit for it.
struct RotatingDelay {
  int64_t cost_ns = 0;
  std::optional<size_t> finding;
};
[[nodiscard]] std::optional<RotatingDelay> rotating_delay(const Model& model);

// Culprits up to a limit, and one rank for each other reason that applies. O(steps * ranks).
inline constexpr size_t kMostCulprits = 8;
[[nodiscard]] std::vector<NotableRank> notable_ranks(const Model& model);

// "+8.6 ms", "costs 9.0 ms", "waits 7.2 ms"; "" = not known.
[[nodiscard]] std::string figure_of(const NotableRank& rank);

// A rank's own work beyond its peers', mean over the steps compared; nullopt = not compared.
[[nodiscard]] std::optional<int64_t> mean_own_delay(const RankModel& rank);

// The figure that orders ranks from fastest to slowest: the mean own delay or, if ranks were not
// compared, the mean step length; nullopt = neither is known. In rank order.
[[nodiscard]] std::vector<std::optional<int64_t>> slowness_of(const Model& model);

}  // namespace dprof::view
