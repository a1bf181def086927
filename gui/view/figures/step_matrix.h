// SPDX-License-Identifier: Apache-2.0
// One figure of each rank in each step, from what the analysis found: what the page Ranks × steps
// shows.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gui/view/drawing/texts.h"
#include "gui/view/model/model.h"

namespace dprof::view {

enum class Metric : uint8_t { kStepTime, kOwnDelay, kWait, kExposed, kInput };

struct MetricInfo {
  std::string_view word;
  std::string_view title;
  std::string_view about;
};
inline constexpr std::array<MetricInfo, 5> kMetrics = {{
    {"step", english("Step time"), english("from the start of a rank's step to its end")},
    {"own-delay", english("Own delay"),
     english("own work beyond the median of its peers, in steady steps")},
    {"wait", english("Waiting"), english("exposed communication before the last peer arrived")},
    {"exposed", english("Exposed communication"),
     english("waiting and transfer that overlap no computation")},
    {"input", english("Input wait"), english("waiting for the next batch")},
}};
[[nodiscard]] constexpr const MetricInfo& info_of(Metric metric) {
  return kMetrics[static_cast<size_t>(metric)];
}

enum class RankOrder : uint8_t { kByRank, kByValue, kByCost };
inline constexpr std::array<std::string_view, 3> kRankOrders = {
    english("by rank"), english("highest first"), english("most expensive first")};

// The rows of the matrix: in which order, whether the ranks of a group stand together, and whether
// they share a row.
struct RowChoice {
  RankOrder order = RankOrder::kByRank;
  std::optional<size_t> division = {};  // position in RankGroups::divisions
  bool folded = false;                  // a row per group
  std::set<size_t> unfolded = {};       // but for these
};

struct StepMatrix {
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min();

  Metric metric = Metric::kStepTime;
  // Rows: positions in Model::ranks; of a group's row the rank with the highest mean.
  std::vector<size_t> ranks;
  std::vector<std::vector<size_t>> members;  // by row, its ranks where it is a group's, else none
  std::vector<int64_t> steps;                // columns: indices of steps, ascending
  // Row by row; kUnknown = the rank has no such step, or no such figure. Of a group the highest.
  std::vector<int64_t> ns;
  std::vector<uint8_t> levels;        // of an image, of each of them; 0 = unknown
  std::vector<int64_t> rank_mean_ns;  // of the known ones; kUnknown = none; of a group the highest
  std::vector<int64_t> step_mean_ns;  // over ranks
  // What the colours run from and to: a few wild values do not make all others pale, a rank that
  // has them in each step does. Own delays below what could be noticed at all are all as pale.
  int64_t low_ns = 0;
  int64_t high_ns = 0;

  [[nodiscard]] int64_t at(size_t row, size_t column) const {
    return ns[row * steps.size() + column];
  }
  // 0…1 between low_ns and high_ns; negative = unknown.
  [[nodiscard]] float level_of(int64_t value_ns) const;
};

// The rank of a row that has its value in a step.
[[nodiscard]] size_t rank_in(const Model& model, const StepMatrix& matrix, size_t row,
                             size_t column);

// O(pieces + ranks * steps).
[[nodiscard]] StepMatrix step_matrix(const Model& model, Metric metric, const RowChoice& rows);
[[nodiscard]] inline StepMatrix step_matrix(const Model& model, Metric metric, RankOrder order) {
  return step_matrix(model, metric, RowChoice{.order = order});
}

}  // namespace dprof::view
