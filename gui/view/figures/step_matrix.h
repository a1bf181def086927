// SPDX-License-Identifier: Apache-2.0
// One figure of each rank in each step, from the analysis: the data of the page Ranks × steps.
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

// The rows of the matrix: their order, whether the ranks of a group are together, and whether they
// share a row.
struct RowChoice {
  RankOrder order = RankOrder::kByRank;
  std::optional<size_t> division = {};  // position in RankGroups::divisions
  bool folded = false;                  // a row per group
  std::set<size_t> unfolded = {};       // except for these
};

struct StepMatrix {
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min();

  Metric metric = Metric::kStepTime;
  // Rows: positions in Model::ranks; for a group's row the rank with the highest mean.
  std::vector<size_t> ranks;
  std::vector<std::vector<size_t>> members;  // by row, its ranks if it is a group's, else none
  std::vector<int64_t> steps;                // columns: indices of steps, ascending
  // Row by row; kUnknown = the rank lacks this step, or this figure. For a group the highest.
  std::vector<int64_t> ns;
  std::vector<uint8_t> levels;        // of an image, of each of them; 0 = unknown
  std::vector<int64_t> rank_mean_ns;  // of the known ones; kUnknown = none; for a group the highest
  std::vector<int64_t> step_mean_ns;  // over ranks
  std::vector<int64_t> step_worst_ns;  // the highest of the ranks
  // The range of the colours: a few outliers do not make all other values pale, unless a rank has
  // them in each step. Own delays below the detection floor are all equally pale.
  int64_t low_ns = 0;
  int64_t high_ns = 0;

  [[nodiscard]] int64_t at(size_t row, size_t column) const {
    return ns[row * steps.size() + column];
  }
  // 0…1 between low_ns and high_ns; negative = unknown.
  [[nodiscard]] float level_of(int64_t value_ns) const;
};

// The rank whose value a row shows in a step.
[[nodiscard]] size_t rank_in(const Model& model, const StepMatrix& matrix, size_t row,
                             size_t column);

// O(pieces + ranks * steps).
[[nodiscard]] StepMatrix step_matrix(const Model& model, Metric metric, const RowChoice& rows);
[[nodiscard]] inline StepMatrix step_matrix(const Model& model, Metric metric, RankOrder order) {
  return step_matrix(model, metric, RowChoice{.order = order});
}

}  // namespace dprof::view
