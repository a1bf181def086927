// SPDX-License-Identifier: Apache-2.0
// One figure of each rank in each step, from what the analysis found: what the page Ranks × steps
// shows.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
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
    {"step", english("Step time"), english("from the begin of a rank's step to its end")},
    {"own-delay", english("Own delay"),
     english("own work beyond the median of its peers, in steady steps")},
    {"wait", english("Waiting"), english("exposed communication before the last peer had come")},
    {"exposed", english("Exposed communication"),
     english("waiting and transfer that nothing hides")},
    {"input", english("Input wait"), english("waiting for the next batch")},
}};
[[nodiscard]] constexpr const MetricInfo& info_of(Metric metric) {
  return kMetrics[static_cast<size_t>(metric)];
}

enum class RankOrder : uint8_t { kByRank, kByValue };

struct StepMatrix {
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min();

  Metric metric = Metric::kStepTime;
  std::vector<size_t> ranks;   // rows: positions in Model::ranks
  std::vector<int64_t> steps;  // columns: indices of steps, ascending
  std::vector<int64_t> ns;  // row by row; kUnknown = the rank has no such step, or no such figure
  std::vector<uint8_t> levels;        // of an image, of each of them; 0 = unknown
  std::vector<int64_t> rank_mean_ns;  // of the known ones; kUnknown = none
  std::vector<int64_t> step_mean_ns;
  // What the colours run from and to: a few wild values do not make all others pale, a rank that
  // has them in each step does.
  int64_t low_ns = 0;
  int64_t high_ns = 0;

  [[nodiscard]] int64_t at(size_t row, size_t column) const {
    return ns[row * steps.size() + column];
  }
  // 0…1 between low_ns and high_ns; negative = unknown.
  [[nodiscard]] float level_of(int64_t value_ns) const;
};

// O(pieces + ranks * steps).
[[nodiscard]] StepMatrix step_matrix(const Model& model, Metric metric, RankOrder order);

}  // namespace dprof::view
