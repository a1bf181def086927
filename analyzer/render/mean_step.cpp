// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/mean_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/format.h"

namespace dprof::analyzer {
namespace {

std::optional<MeanStep> mean_of(const Report& report, std::span<const RankBreakdown> ranks) {
  const std::optional<int64_t> steps = steady_steps(report);
  if (!steps || ranks.empty()) return std::nullopt;
  const double weight = 1.0 / (static_cast<double>(*steps) * static_cast<double>(ranks.size()));
  MeanStep mean;
  for (const RankBreakdown& rank : ranks) {
    mean.wall_ns += weight * static_cast<double>(rank.wall_ns);
    for (size_t c = 0; c < kCategories; ++c) {
      mean.category_ns[c] += weight * static_cast<double>(rank.category_ns[c]);
    }
    for (const auto& [key, ns] : rank.detail_ns)
      mean.detail_ns[key] += weight * static_cast<double>(ns);
  }
  if (!(mean.wall_ns > 0)) return std::nullopt;
  return mean;
}

}  // namespace

std::optional<int64_t> steady_steps(const Report& report) {
  if (!report.run.steps) return std::nullopt;
  const int64_t steps = report.run.steps->steady;
  return steps > 0 ? std::optional(steps) : std::nullopt;
}

std::optional<MeanStep> mean_step(const Report& report) {
  if (!report.breakdown) return std::nullopt;
  return mean_of(report, report.breakdown->per_rank);
}

std::optional<MeanStep> mean_step(const Report& report, const RankBreakdown& rank) {
  return mean_of(report, std::span(&rank, 1));
}

MeanStep median_of(const std::vector<MeanStep>& steps) {
  const auto median = [&](auto&& value) {
    std::vector<double> values;
    for (const MeanStep& step : steps) values.push_back(value(step));
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
  };
  MeanStep step{.wall_ns = median([](const MeanStep& s) { return s.wall_ns; }), .detail_ns = {}};
  for (size_t c = 0; c < kCategories; ++c)
    step.category_ns[c] = median([&](const MeanStep& s) { return s.category_ns[c]; });
  return step;
}

std::string per_step_text(std::optional<double> count) {
  if (!count) return "";
  if (*count > 0 && *count < 0.005) return "<0.01";
  return *count < 100 ? fmt::format("{:.3g}", *count) : format_count(std::llround(*count));
}

StepUnit::StepUnit(double step_ns) {
  if (step_ns >= 10e9) {
    size_ = 1e9, decimals_ = 2, name_ = "s";
  } else if (step_ns >= 5e6) {
    size_ = 1e6, decimals_ = 1, name_ = "ms";
  } else {
    size_ = 1e3, decimals_ = step_ns >= 0.5e6 ? 0 : 1, name_ = "µs";
  }
}

double StepUnit::least() const { return size_ * std::pow(10.0, -decimals_); }

std::string StepUnit::number(double ns) const {
  const double least = std::pow(10.0, -decimals_);
  if (ns > 0 && ns / size_ < least / 2) return fmt::format("<{:.{}f}", least, decimals_);
  return fmt::format("{:.{}f}", ns / size_, decimals_);
}

std::string StepUnit::text(double ns) const { return fmt::format("{} {}", number(ns), name_); }

MeanStep with_hidden_in_phases(MeanStep step) {
  for (const Category c :
       {Category::kForward, Category::kBackward, Category::kOptimizer, Category::kOtherCompute}) {
    const auto hides = step.detail_ns.find(fmt::format("overlapped.{}", key_of(c)));
    if (hides == step.detail_ns.end()) continue;
    step.category_ns[static_cast<size_t>(c)] += hides->second;
    step.category_ns[static_cast<size_t>(Category::kOverlapped)] -= hides->second;
  }
  return step;
}

bool is_seen_from_one_rank(const Report& report) {
  return report.breakdown && report.breakdown->per_rank.size() == 1 && report.run.ranks > 1;
}

StepUnit unit_of(const Report& report) {
  if (const std::optional<MeanStep> mean = mean_step(report)) return StepUnit(mean->wall_ns);
  return StepUnit(median_step(report).value_or(1e9));
}

std::optional<double> median_step(const Report& report) {
  if (!report.run.steps || report.run.steps->median_ns <= 0) return std::nullopt;
  return static_cast<double>(report.run.steps->median_ns);
}

}  // namespace dprof::analyzer
