// SPDX-License-Identifier: Apache-2.0
#include "gui/view/timeline/overview.h"

#include <algorithm>
#include <cmath>

#include "gui/view/drawing/time_scale.h"

namespace dprof::view {
namespace {

constexpr int kTickBand = 8;  // on top, for steps and findings
constexpr int kGraphHeight = kOverviewHeight - kTickBand - 3;

float utilisation_at(const Model& model, const TimeScale& scale, int x) {
  const auto parts = static_cast<int64_t>(model.utilisation.size());
  const double length = static_cast<double>(model.span.length().ns);
  const auto part_of = [&](TraceNs time) {
    const double share = static_cast<double>((time - model.span.begin).ns) / length;
    return static_cast<int64_t>(std::floor(share * static_cast<double>(parts)));
  };
  const int64_t first = part_of(scale.time_of(x));
  const int64_t last = std::max(part_of(scale.time_of(x + 1)), first + 1);
  float sum = 0;
  for (int64_t i = std::max<int64_t>(first, 0); i < std::min(last, parts); ++i) {
    sum += model.utilisation[static_cast<size_t>(i)];
  }
  return sum / static_cast<float>(last - first);
}

void draw_utilisation(const Model& model, const TimeScale& scale, int width, DrawList& list) {
  if (model.utilisation.empty() || width <= 0) return;
  constexpr uint8_t kFull = 255;
  std::vector<uint8_t> levels(static_cast<size_t>(width) * kGraphHeight);
  for (int x = 0; x < width; ++x) {
    const float share = utilisation_at(model, scale, x);
    const int filled = static_cast<int>(std::lround(share * kGraphHeight));
    for (int y = kGraphHeight - filled; y < kGraphHeight; ++y) {
      levels[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)] = kFull;
    }
  }
  list.image({0, kTickBand, width, kGraphHeight}, levels, Role::kUtilisation);
}

}  // namespace

DrawList draw_overview(const Model& model, Interval whole, int width) {
  DrawList list;
  const TimeScale scale(whole, width);
  list.rect({0, 0, width, kOverviewHeight}, Role::kCanvas);
  draw_utilisation(model, scale, width, list);
  int previous = -10;
  for (const analyzer::StepWindow& step : model.steps) {
    const int x = scale.pixel_of(step.window.begin);
    if (x - previous < 6) continue;  // closer ticks would merge into a bar
    list.line({x, 0}, {x, 3}, Role::kTextFaint);
    previous = x;
  }
  for (const analyzer::Finding& finding : model.findings()) {
    const bool critical = finding.severity == analyzer::FindingSeverity::kCritical;
    for (const analyzer::Evidence& evidence : finding.evidence) {
      const int x = scale.pixel_of(TraceNs{evidence.start_ns});
      list.rect({x - 1, 0, 3, 7}, critical ? Role::kProblem : Role::kWarn);
    }
  }
  list.line({0, kOverviewHeight - 1}, {width, kOverviewHeight - 1}, Role::kBorder);
  return list;
}

DrawList draw_brush(Interval range, Interval whole, int width) {
  DrawList list;
  const TimeScale scale(whole, width);
  constexpr int kLeastWidth = 4;
  const int x0 = scale.pixel_of(range.begin);
  const int x1 = std::max(scale.pixel_of(range.end), x0 + kLeastWidth);
  list.rect({x0, 1, x1 - x0, kOverviewHeight - 3}, Role::kBrush, {}, 200, 2);
  list.frame({x0, 1, x1 - x0, kOverviewHeight - 3}, Role::kBrush, 2, 2);
  return list;
}

}  // namespace dprof::view
