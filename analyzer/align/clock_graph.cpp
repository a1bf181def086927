// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/clock_graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kNoPath = std::numeric_limits<double>::infinity();
constexpr int kRounds = 10;      // of re-weighting
constexpr size_t kTimes = 64;    // times at which loops are evaluated
constexpr double kLeastNs = 10;  // a residual weighs no more than one of that size

double usual_bound(const ClockEdge& edge) {
  std::vector<double> bounds;
  for (const ClockMap::Knot& knot : edge.fit.map.knots())
    bounds.push_back(static_cast<double>(knot.bound_ns.value_or(kNsPerSecond)));
  return median(std::move(bounds));
}

// y = A x, where A is the weighted Laplacian of the graph without the reference's row and column.
std::vector<double> times_laplacian(std::span<const Residual> edges,
                                    const std::vector<double>& weights, size_t reference,
                                    const std::vector<double>& x) {
  std::vector<double> y(x.size());
  for (size_t e = 0; e < edges.size(); ++e) {
    const double flow = weights[e] * (x[edges[e].from] - x[edges[e].to]);
    y[edges[e].from] += flow;
    y[edges[e].to] -= flow;
  }
  y[reference] = 0;
  return y;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Conjugate gradients; x[reference] stays 0.
void solve(std::span<const Residual> edges, const std::vector<double>& weights, size_t reference,
           std::vector<double>& x) {
  std::vector<double> r(x.size());
  for (size_t e = 0; e < edges.size(); ++e) {
    const double flow = weights[e] * edges[e].value;
    r[edges[e].from] += flow;
    r[edges[e].to] -= flow;
  }
  r[reference] = 0;
  const std::vector<double> ax = times_laplacian(edges, weights, reference, x);
  for (size_t i = 0; i < r.size(); ++i) r[i] -= ax[i];
  std::vector<double> p = r;
  double rr = dot(r, r);
  const double enough = rr * 1e-18;
  for (size_t i = 0; i < 2 * x.size() && rr > enough && rr > 0; ++i) {
    const std::vector<double> ap = times_laplacian(edges, weights, reference, p);
    const double curvature = dot(p, ap);
    if (curvature <= 0) return;
    const double step = rr / curvature;
    for (size_t k = 0; k < x.size(); ++k) {
      x[k] += step * p[k];
      r[k] -= step * ap[k];
    }
    const double next = dot(r, r);
    for (size_t k = 0; k < x.size(); ++k) p[k] = r[k] + next / rr * p[k];
    rr = next;
  }
}

class Placer {
 public:
  Placer(size_t clocks, size_t reference, std::span<const ClockEdge> edges, Interval covers)
      : reference_(reference), edges_(edges), covers_(covers), left_out_(edges.size()) {
    graph_.clocks.resize(clocks);
  }

  ClockGraph run() {
    grow_tree();
    if (has_loops()) leave_out_contradictions();
    if (has_loops()) fuse();
    for (const ClockEdge& edge : edges_) {
      for (const size_t clock : {edge.from, edge.to}) {
        if (graph_.clocks[clock] && clock != reference_)
          graph_.clocks[clock]->probes += edge.probes;
      }
    }
    return std::move(graph_);
  }

 private:
  // Dijkstra: the path with the smallest sum of bounds to each clock.
  void grow_tree() {
    using Entry = std::pair<double, size_t>;
    std::vector<double> cost(graph_.clocks.size(), kNoPath);
    std::vector<std::vector<size_t>> edges_of(graph_.clocks.size());
    std::vector<double> bound_of;
    for (size_t e = 0; e < edges_.size(); ++e) {
      edges_of[edges_[e].from].push_back(e);
      edges_of[edges_[e].to].push_back(e);
      bound_of.push_back(usual_bound(edges_[e]));
    }
    std::vector<std::optional<size_t>> by(graph_.clocks.size());
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    cost[reference_] = 0;
    graph_.clocks[reference_].emplace();
    queue.emplace(0.0, reference_);
    while (!queue.empty()) {
      const auto [so_far, clock] = queue.top();
      queue.pop();
      if (so_far > cost[clock]) continue;
      if (by[clock]) attach(clock, edges_[*by[clock]]);
      for (const size_t e : edges_of[clock]) {
        if (left_out_[e]) continue;
        const size_t next = edges_[e].from == clock ? edges_[e].to : edges_[e].from;
        if (so_far + bound_of[e] >= cost[next]) continue;
        cost[next] = so_far + bound_of[e];
        by[next] = e;
        queue.emplace(cost[next], next);
      }
    }
  }

  void attach(size_t clock, const ClockEdge& edge) {
    const bool forward = edge.from == clock;
    const PlacedClock& parent = *graph_.clocks[forward ? edge.to : edge.from];
    const ClockMap inner = forward ? edge.fit.map : inverse_of(edge.fit.map);
    graph_.clocks[clock] =
        PlacedClock{.map = composed(inner, parent.map),
                    .drift = parent.drift + (forward ? edge.fit.drift : -edge.fit.drift),
                    .resets = parent.resets + edge.fit.resets,
                    .likely_ns = parent.likely_ns + edge.fit.likely_ns.value_or(0)};
    ++tree_edges_;
  }

  [[nodiscard]] bool is_placed(const ClockEdge& edge) const {
    return graph_.clocks[edge.from] && graph_.clocks[edge.to];
  }

  [[nodiscard]] bool has_loops() const {
    size_t placed = 0;
    for (size_t e = 0; e < edges_.size(); ++e)
      placed += !left_out_[e] && is_placed(edges_[e]) ? 1 : 0;
    return placed > tree_edges_;
  }

  // What `edge` says beyond the present maps, at a time on the axis.
  [[nodiscard]] Residual residual_at(const ClockEdge& edge, TraceNs axis) const {
    const TraceNs there = graph_.clocks[edge.from]->map.from_axis(axis);
    const TraceNs other = graph_.clocks[edge.to]->map.to_axis(edge.fit.map.to_axis(there));
    const double width =
        static_cast<double>(edge.fit.map.bound_at(there).value_or(kNsPerSecond)) + 1;
    return {edge.from, edge.to, static_cast<double>((axis - other).ns), width};
  }

  [[nodiscard]] std::vector<Residual> residuals_at(TraceNs axis) const {
    std::vector<Residual> residuals;
    for (size_t e = 0; e < edges_.size(); ++e) {
      if (!left_out_[e] && is_placed(edges_[e])) residuals.push_back(residual_at(edges_[e], axis));
    }
    return residuals;
  }

  [[nodiscard]] std::vector<TraceNs> times() const {
    std::vector<TraceNs> result;
    const double length = static_cast<double>((covers_.end - covers_.begin).ns);
    for (size_t i = 0; i < kTimes; ++i) {
      const double share = static_cast<double>(i) / static_cast<double>(kTimes - 1);
      result.push_back(covers_.begin + DurationNs{static_cast<int64_t>(share * length)});
    }
    return result;
  }

  // Edges that are, at most times, farther from the solution than their width allows.
  void leave_out_contradictions() {
    std::vector<size_t> bad(edges_.size());
    for (const TraceNs axis : times()) {
      const std::vector<Residual> residuals = residuals_at(axis);
      const std::vector<double> x = least_absolute(graph_.clocks.size(), reference_, residuals);
      size_t r = 0;
      for (size_t e = 0; e < edges_.size(); ++e) {
        if (left_out_[e] || !is_placed(edges_[e])) continue;
        const Residual& residual = residuals[r++];
        const double off = x[residual.from] - x[residual.to] - residual.value;
        if (std::abs(off) > residual.width) ++bad[e];
      }
    }
    for (size_t e = 0; e < edges_.size(); ++e) {
      left_out_[e] = bad[e] > kTimes / 2;
      graph_.contradicting_edges += left_out_[e] ? 1 : 0;
    }
    if (graph_.contradicting_edges == 0) return;
    graph_.clocks.assign(graph_.clocks.size(), std::nullopt);
    tree_edges_ = 0;
    grow_tree();
  }

  void fuse() {
    const std::vector<TraceNs> at = times();
    std::vector<std::vector<ClockMap::Knot>> knots(graph_.clocks.size());
    for (const TraceNs axis : at) {
      const std::vector<Residual> residuals = residuals_at(axis);
      const std::optional<Limits> limits = limits_of(graph_.clocks.size(), reference_, residuals);
      const std::vector<double> x = least_absolute(graph_.clocks.size(), reference_, residuals);
      for (size_t c = 0; c < knots.size(); ++c) {
        if (c == reference_ || !graph_.clocks[c]) continue;
        const int64_t own = graph_.clocks[c]->map.bound_on_axis(axis).value_or(kNsPerSecond);
        double shift = 0;
        double bound = static_cast<double>(own);
        if (limits) {
          shift = std::clamp(x[c], limits->least[c], limits->most[c]);
          bound = std::max(shift - limits->least[c], limits->most[c] - shift);
        }
        knots[c].push_back({axis, static_cast<int64_t>(std::round(shift)),
                            std::min<int64_t>(static_cast<int64_t>(std::ceil(bound)) + 1,
                                              own + static_cast<int64_t>(std::abs(shift)) + 1)});
      }
    }
    for (size_t c = 0; c < knots.size(); ++c) {
      if (!knots[c].empty()) apply(ClockMap(std::move(knots[c])), graph_.clocks[c]->map);
    }
  }

  // Where the correction has bounds, they replace the map's: at those times only, so the map gets
  // its knots there.
  static void apply(const ClockMap& correction, ClockMap& map) {
    std::vector<ClockMap::Knot> knots;
    const ClockMap whole = composed(map, correction);
    for (const ClockMap::Knot& knot : whole.knots()) {
      const TraceNs middle = map.to_axis(knot.local);
      const std::optional<int64_t> before = map.bound_at(knot.local);
      const int64_t moved = std::abs(correction.offset_at(middle));
      ClockMap::Knot fused{knot.local, knot.offset_ns, correction.bound_on_axis(middle)};
      // Between these times only the bound of the path itself is certain.
      if (before && fused.bound_ns && *before > 2 * *fused.bound_ns)
        fused.bound_ns = *before + moved;
      knots.push_back(fused);
    }
    map = ClockMap(std::move(knots));
  }

  const size_t reference_;
  const std::span<const ClockEdge> edges_;
  const Interval covers_;
  std::vector<bool> left_out_;
  size_t tree_edges_ = 0;
  ClockGraph graph_;
};

}  // namespace

ClockGraph place_clocks(size_t clocks, size_t reference, std::span<const ClockEdge> edges,
                        Interval covers) {
  return Placer(clocks, reference, edges, covers).run();
}

std::vector<double> least_absolute(size_t clocks, size_t reference,
                                   std::span<const Residual> residuals) {
  std::vector<double> x(clocks);
  std::vector<double> weights;
  for (const Residual& r : residuals) weights.push_back(1 / r.width);
  for (int round = 0; round < kRounds; ++round) {
    solve(residuals, weights, reference, x);
    for (size_t e = 0; e < residuals.size(); ++e) {
      const Residual& r = residuals[e];
      const double off = std::abs(x[r.from] - x[r.to] - r.value);
      weights[e] = 1 / (r.width * std::max(off, kLeastNs));
    }
  }
  return x;
}

std::optional<Limits> limits_of(size_t clocks, size_t reference,
                                std::span<const Residual> residuals) {
  // Shortest paths in the graph of differences (Bellman-Ford), from the reference and towards it.
  Limits limits{std::vector<double>(clocks, -kNoPath), std::vector<double>(clocks, kNoPath)};
  limits.least[reference] = limits.most[reference] = 0;
  constexpr double kRounding = 1e-3;
  bool changed = true;
  for (size_t round = 0; changed; ++round) {
    if (round > clocks) return std::nullopt;
    changed = false;
    for (const Residual& r : residuals) {
      const auto lower_most = [&](size_t i, double value) {
        if (value >= limits.most[i] - kRounding) return;
        limits.most[i] = value;
        changed = true;
      };
      const auto raise_least = [&](size_t i, double value) {
        if (value <= limits.least[i] + kRounding) return;
        limits.least[i] = value;
        changed = true;
      };
      lower_most(r.from, limits.most[r.to] + r.value + r.width);
      lower_most(r.to, limits.most[r.from] - r.value + r.width);
      raise_least(r.from, limits.least[r.to] + r.value - r.width);
      raise_least(r.to, limits.least[r.from] - r.value - r.width);
    }
    if (limits.most[reference] < 0 || limits.least[reference] > 0) return std::nullopt;
  }
  return limits;
}

}  // namespace dprof::analyzer
