// SPDX-License-Identifier: Apache-2.0
// Lines under or over a cloud of points, by convex hulls; used to find a clock's skew.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace dprof::analyzer {

struct Point {
  double t = 0;
  double v = 0;
};

struct Line {
  double slope = 0;
  Point through;

  [[nodiscard]] double at(double t) const { return through.v + slope * (t - through.t); }
};

// Vertices of the convex hull that lie below (above) all points, in order of t. `points` are in
// order of t. O(n).
[[nodiscard]] std::vector<Point> lower_hull(std::span<const Point> points);
[[nodiscard]] std::vector<Point> upper_hull(std::span<const Point> points);

// The hull's edge over `t`. With t the mean of the points' times, it is the line on their side of
// all points with the least sum of distances (Moon, Skelly, Towsley). `hull` has at least one
// vertex; with exactly one the line is level.
[[nodiscard]] Line edge_over(std::span<const Point> hull, double t);

struct SlopeRange {
  double least = 0;
  double most = 0;
};

// The slopes of lines that pass below no point of `floor` and above none of `ceiling`, from their
// hulls (upper_hull of the floor, lower_hull of the ceiling), allowing `slack`. nullopt: no such
// line, or nothing limits it. O(n * m) in vertices.
[[nodiscard]] std::optional<SlopeRange> slopes_between(std::span<const Point> floor,
                                                       std::span<const Point> ceiling,
                                                       double slack);

}  // namespace dprof::analyzer
