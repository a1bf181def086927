// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/hull.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dprof::analyzer {
namespace {

// sign +1: the points lie above the hull; -1: below it.
std::vector<Point> hull_of(std::span<const Point> points, double sign) {
  std::vector<Point> hull;
  for (const Point& p : points) {
    if (!hull.empty() && hull.back().t == p.t) {
      if (sign * (p.v - hull.back().v) >= 0) continue;
      hull.pop_back();
    }
    while (hull.size() >= 2) {
      const Point& a = hull[hull.size() - 2];
      const Point& b = hull.back();
      const double turn = (b.t - a.t) * (p.v - a.v) - (b.v - a.v) * (p.t - a.t);
      if (sign * turn > 0) break;
      hull.pop_back();
    }
    hull.push_back(p);
  }
  return hull;
}

}  // namespace

std::vector<Point> lower_hull(std::span<const Point> points) { return hull_of(points, 1); }
std::vector<Point> upper_hull(std::span<const Point> points) { return hull_of(points, -1); }

Line edge_over(std::span<const Point> hull, double t) {
  if (hull.size() < 2) return {0, hull.front()};
  const auto after = std::ranges::upper_bound(hull.subspan(1, hull.size() - 2), t, {}, &Point::t);
  const Point& b = *after;
  const Point& a = *std::prev(after);
  return {(b.v - a.v) / (b.t - a.t), a};
}

std::optional<SlopeRange> slopes_between(std::span<const Point> floor,
                                         std::span<const Point> ceiling, double slack) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  SlopeRange range{-kInfinity, kInfinity};
  for (const Point& low : floor) {
    for (const Point& high : ceiling) {
      const double room = high.v - low.v + slack;
      const double apart = high.t - low.t;
      if (apart > 0) range.most = std::min(range.most, room / apart);
      if (apart < 0) range.least = std::max(range.least, room / apart);
      if (apart == 0 && room < 0) return std::nullopt;
    }
  }
  if (!std::isfinite(range.least) || !std::isfinite(range.most) || range.least > range.most)
    return std::nullopt;
  return range;
}

}  // namespace dprof::analyzer
