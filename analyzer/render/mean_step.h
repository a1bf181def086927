// SPDX-License-Identifier: Apache-2.0
// The breakdown as displayed: per step, averaged over ranks and steady steps, in one unit for the
// whole report.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/report/report.h"

namespace dprof::analyzer {

struct MeanStep {
  double wall_ns = 0;
  std::array<double, kCategories> category_ns{};
  std::map<std::string, double> detail_ns;
};

// Steady steps of the run; nullopt if none was found.
[[nodiscard]] std::optional<int64_t> steady_steps(const Report& report);

// nullopt: no breakdown was computed, or it covers no time.
[[nodiscard]] std::optional<MeanStep> mean_step(const Report& report);
[[nodiscard]] std::optional<MeanStep> mean_step(const Report& report, const RankBreakdown& rank);

// The median of each part separately; `steps` is not empty.
[[nodiscard]] MeanStep median_of(const std::vector<MeanStep>& steps);

// Counts hidden computation of a phase for the phase, as in the picture of a step.
[[nodiscard]] MeanStep with_hidden_in_phases(MeanStep step);

// "4", "0.5"; "" if unknown.
[[nodiscard]] std::string per_step_text(std::optional<double> count);

// The common unit for the times of a report, so that they can be compared: chosen by the length of
// a step.
class StepUnit {
 public:
  explicit StepUnit(double step_ns);

  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] double least() const;  // ns of the last displayed digit
  [[nodiscard]] std::string number(
      double ns) const;  // "82.1"; "<0.1" for a non-zero value that would show as 0
  [[nodiscard]] std::string text(double ns) const;  // "82.1 ms"

 private:
  double size_;
  int decimals_;
  std::string_view name_;
};

// Only one of several ranks is shown (focus.h).
[[nodiscard]] bool is_seen_from_one_rank(const Report& report);

// By the mean step; without a breakdown by the median step; without steps seconds.
[[nodiscard]] StepUnit unit_of(const Report& report);

// ns of the median step; nullopt without steps.
[[nodiscard]] std::optional<double> median_step(const Report& report);

}  // namespace dprof::analyzer
