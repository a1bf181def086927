// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/offset_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analyzer/align/resets.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kFitWindowNs = 10.0 * kNsPerSecond;
constexpr double kMostWindows = 20'000;  // wider ones in what lasts longer than two days
constexpr double kJitterNs = 1'000;      // of a timestamp: the kernel's and the conversion of ticks
constexpr double kQuartzDrift = 200e-6;  // without evidence: beyond any quartz
constexpr double kUsefulSlope = 50e-6;   // a slope known worse than this is not used
constexpr double kLeastWander = 0.3e-6;  // no drift is more constant than that (temperature)
constexpr size_t kEnoughForSlope = 8;    // guesses
constexpr size_t kNeighbours = 2;        // windows on each side that influence a guess
constexpr double kFirstAwayNs = 50e6;    // beyond the evidence, the first knot
constexpr double kBestShare = 0.05;      // of the evidence: its spread is the likely error

struct Window {
  double centre = 0;
  double least = 0;  // at the centre
  double most = 0;
  double guess = 0;
  double half = 0;   // of the possible range, as seen from the guess
  double slope = 0;  // the skew that was removed
  double likely = 0;
  bool contradicts = false;
};

// Mean of the best values, which are distances of evidence from the best one.
double spread_of(std::vector<double> distances) {
  const size_t n = std::min(
      distances.size(),
      std::max<size_t>(
          2, static_cast<size_t>(std::ceil(kBestShare * static_cast<double>(distances.size())))));
  std::ranges::partial_sort(distances, distances.begin() + static_cast<ptrdiff_t>(n));
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += distances[i];
  return sum / static_cast<double>(n);
}

// One stretch without resets.
class PartFit {
 public:
  explicit PartFit(const CloudPart& part) : part_(part) {}

  void run() {
    find_skew();
    const auto windows =
        static_cast<size_t>(std::clamp(length() / kFitWindowNs, 1.0, kMostWindows));
    fill_windows(windows, std::vector<double>(windows, skew_));
    if (windows_.size() >= 3) refill_with_local_slopes(windows);
    settle_contradictions();
  }

  [[nodiscard]] double skew() const { return skew_; }
  [[nodiscard]] double length() const { return part_.end - part_.begin; }
  [[nodiscard]] const std::vector<Window>& windows() const { return windows_; }

  struct Knot {
    double t = 0;
    double offset = 0;
    double bound = 0;
  };

  [[nodiscard]] std::vector<Knot> knots() const {
    std::vector<Knot> knots;
    const Window& first = windows_.front();
    const Window& last = windows_.back();
    const double inside = inner_slope_error();
    if (part_.begin < first.centre) knots.push_back(away_from(first, part_.begin, inside));
    for (size_t w = 0; w < windows_.size(); ++w) {
      if (w > 0) add_middle(w, knots);
      knots.push_back({windows_[w].centre, windows_[w].guess, bound_of(w)});
    }
    if (part_.end > last.centre) knots.push_back(away_from(last, part_.end, inside));
    return knots;
  }

  // The offset at `t`, before or after everything in this part.
  [[nodiscard]] Knot beyond(double t) const {
    const bool before = t < part_.begin;
    const Window& window = before ? windows_.front() : windows_.back();
    double error = inner_slope_error();
    if (windows_.size() > 1) {
      const Window& next = before ? windows_[1] : windows_[windows_.size() - 2];
      error += (window.half + next.half) / std::abs(next.centre - window.centre);
    }
    const double edge = before ? part_.begin : part_.end;
    Knot knot = away_from(window, t, inner_slope_error());
    knot.bound +=
        std::max(0.0, std::min(error, kQuartzDrift) - inner_slope_error()) * std::abs(t - edge);
    return knot;
  }

 private:
  void find_skew() {
    const std::vector<Point> floor = upper_hull(part_.lower);
    const std::vector<Point> ceiling = lower_hull(part_.upper);
    const double middle = (part_.begin + part_.end) / 2;
    skew_ = (edge_over(floor, middle).slope + edge_over(ceiling, middle).slope) / 2;
    SlopeRange range = slopes_between(floor, ceiling, kJitterNs)
                           .value_or(SlopeRange{skew_ - kLeastWander, skew_ + kLeastWander});
    range = {std::clamp(range.least, -kQuartzDrift, kQuartzDrift),
             std::clamp(range.most, -kQuartzDrift, kQuartzDrift)};
    if (part_.middle.size() >= kEnoughForSlope) {
      skew_ = slope_of_middle();
    } else if (range.most - range.least > 2 * kUsefulSlope) {
      skew_ = 0;
    }
    skew_ = std::clamp(skew_, range.least, range.most);
    slope_error_ = std::max({range.most - skew_, skew_ - range.least, kLeastWander});
  }

  // Ends of collectives follow the offset more closely than the limits, which are a transfer apart.
  [[nodiscard]] double slope_of_middle() const {
    const std::vector<Point>& points = part_.middle;
    const size_t lag = points.size() / 2;
    std::vector<double> slopes;
    for (size_t i = 0; i + lag < points.size(); ++i) {
      const double apart = points[i + lag].t - points[i].t;
      if (apart > 0) slopes.push_back((points[i + lag].v - points[i].v) / apart);
    }
    return median(std::move(slopes));
  }

  void fill_windows(size_t count, const std::vector<double>& slopes) {
    windows_.clear();
    const double width = length() / static_cast<double>(count);
    size_t low = 0;
    size_t high = 0;
    size_t mid = 0;
    for (size_t w = 0; w < count; ++w) {
      const double end = w + 1 == count ? std::numeric_limits<double>::infinity()
                                        : part_.begin + width * static_cast<double>(w + 1);
      Window window{.centre = part_.begin + width * (static_cast<double>(w) + 0.5),
                    .slope = slopes[w]};
      const auto values_of = [&](const std::vector<Point>& points, size_t& next) {
        std::vector<double> values;
        for (; next < points.size() && points[next].t < end; ++next)
          values.push_back(points[next].v - window.slope * (points[next].t - window.centre));
        return values;
      };
      const std::vector<double> lower = values_of(part_.lower, low);
      const std::vector<double> upper = values_of(part_.upper, high);
      const std::vector<double> middle = values_of(part_.middle, mid);
      if (lower.empty() || upper.empty()) continue;
      judge(window, lower, upper, middle);
      windows_.push_back(window);
    }
    if (part_.middle.empty()) listen_to_neighbours();
  }

  // A window without a clean probe leaves a wide range. Its neighbours narrow it, allowing for a
  // wandering drift: the guess is the middle of that range. The bound remains that of the window
  // itself.
  void listen_to_neighbours() {
    std::vector<double> guesses;
    for (size_t w = 0; w < windows_.size(); ++w) {
      const Window& window = windows_[w];
      double least = window.least;
      double most = window.most;
      const size_t last = std::min(windows_.size() - 1, w + kNeighbours);
      for (size_t n = w < kNeighbours ? 0 : w - kNeighbours; n <= last; ++n) {
        const double away = window.centre - windows_[n].centre;
        const double drifted = (window.slope + windows_[n].slope) / 2 * away;
        const double wandered = kLeastWander * std::abs(away);
        least = std::max(least, windows_[n].least + drifted - wandered);
        most = std::min(most, windows_[n].most + drifted + wandered);
      }
      const bool agree = least <= most && !window.contradicts;
      guesses.push_back(agree ? (least + most) / 2 : window.guess);
    }
    for (size_t w = 0; w < windows_.size(); ++w) {
      Window& window = windows_[w];
      window.guess = guesses[w];
      window.half = std::max(window.guess - window.least, window.most - window.guess);
    }
  }

  static void judge(Window& window, const std::vector<double>& lower,
                    const std::vector<double>& upper, const std::vector<double>& middle) {
    window.least = std::ranges::max(lower);
    window.most = std::ranges::min(upper);
    window.contradicts = window.least > window.most;
    window.guess = (window.least + window.most) / 2;
    if (middle.empty()) {
      std::vector<double> below;
      std::vector<double> above;
      for (const double v : lower) below.push_back(window.least - v);
      for (const double v : upper) above.push_back(v - window.most);
      window.likely = (spread_of(std::move(below)) + spread_of(std::move(above))) / 2;
    } else {
      window.likely = mad_n(middle);
      if (!window.contradicts) window.guess = std::clamp(median(middle), window.least, window.most);
    }
    window.half = std::max(window.guess - window.least, window.most - window.guess);
  }

  // A wandering drift is steeper in some places and flatter in others: within a window the slope
  // between its neighbours is closer to the truth than the overall one.
  void refill_with_local_slopes(size_t count) {
    if (windows_.size() != count) return;  // with gaps: keep the overall skew
    std::vector<double> slopes(count);
    for (size_t w = 0; w < count; ++w) {
      const size_t before = w == 0 ? 0 : w - 1;
      const size_t after = w + 1 == count ? w : w + 1;
      slopes[w] = slope_between(before, after);
    }
    fill_windows(count, slopes);
  }

  // No single offset satisfies the window's evidence: it moved within the window, by less than a
  // reset. The true offset is between the two limits.
  void settle_contradictions() {
    std::vector<double> halves;
    for (const Window& w : windows_) {
      if (!w.contradicts) halves.push_back(w.half);
    }
    const double usual = median(std::move(halves));
    for (Window& w : windows_) {
      if (w.contradicts) w.half = (w.least - w.most) / 2 + usual;
    }
  }

  [[nodiscard]] double slope_between(size_t a, size_t b) const {
    return (windows_[b].guess - windows_[a].guess) / (windows_[b].centre - windows_[a].centre);
  }

  // How far the slope within the part can deviate from the assumed one.
  [[nodiscard]] double inner_slope_error() const {
    if (windows_.size() == 1) return slope_error_;
    double most = 0;
    for (const Window& w : windows_) most = std::max(most, std::abs(w.slope - skew_));
    return std::max(most, kLeastWander);
  }

  [[nodiscard]] double bound_of(size_t w) const {
    double bend = 0;
    if (w > 0 && w + 1 < windows_.size())
      bend = std::abs(slope_between(w - 1, w) - slope_between(w, w + 1));
    const double width = windows_.size() == 1 ? 0 : length() / static_cast<double>(windows_.size());
    return windows_[w].half + kJitterNs + bend * width / 2;
  }

  [[nodiscard]] Knot away_from(const Window& window, double t, double slope_error) const {
    const auto w = static_cast<size_t>(&window - windows_.data());
    const double away = t - window.centre;
    return {t, window.guess + window.slope * away, bound_of(w) + slope_error * std::abs(away)};
  }

  // Where windows are missing, the offset between them is unknown.
  void add_middle(size_t w, std::vector<Knot>& knots) const {
    const Window& a = windows_[w - 1];
    const Window& b = windows_[w];
    const double apart = b.centre - a.centre;
    if (apart < 1.5 * kFitWindowNs) return;
    knots.push_back({(a.centre + b.centre) / 2, (a.guess + b.guess) / 2,
                     std::max(bound_of(w - 1), bound_of(w)) + inner_slope_error() * apart / 2});
  }

  const CloudPart& part_;
  double skew_ = 0;
  double slope_error_ = 0;  // of the skew of the whole part
  std::vector<Window> windows_;
};

class KnotList {
 public:
  explicit KnotList(const Cloud& cloud) : cloud_(cloud) {}

  void add(const PartFit::Knot& knot) {
    const TraceNs at = cloud_.time_of(knot.t);
    if (!knots_.empty() && at <= knots_.back().local) return;
    knots_.push_back({at, cloud_.offset_of(std::round(knot.offset)),
                      static_cast<int64_t>(std::ceil(knot.bound))});
  }

  // Between here and `next` the offset jumped, at an unknown time.
  void add_reset(const PartFit::Knot& before, const PartFit::Knot& next) {
    const double jump = std::abs(next.offset - before.offset);
    add({before.t + 1, before.offset, before.bound + jump});
    add({next.t - 1, next.offset, next.bound + jump});
  }

  // Uncertainty grows with the distance from the evidence: knots at growing distances.
  void add_before(const PartFit& fit, double begin, double from) {
    std::vector<double> times;
    for (double away = kFirstAwayNs; begin - from > away; away *= 2) times.push_back(begin - away);
    if (from < begin) times.push_back(from);
    std::ranges::reverse(times);
    for (const double t : times) add(fit.beyond(t));
  }

  void add_after(const PartFit& fit, double end, double to) {
    for (double away = kFirstAwayNs; to - end > away; away *= 2) add(fit.beyond(end + away));
    if (to > end) add(fit.beyond(to));
  }

  [[nodiscard]] std::vector<ClockMap::Knot> take() { return std::move(knots_); }

 private:
  const Cloud& cloud_;
  std::vector<ClockMap::Knot> knots_;
};

}  // namespace

std::optional<OffsetFit> fit_offset(Cloud cloud, Interval covers) {
  cloud.sort();
  if (cloud.empty()) return std::nullopt;
  const CloudParts split = split_at_resets(cloud);
  if (split.parts.empty()) return std::nullopt;
  std::vector<PartFit> fits;
  for (const CloudPart& part : split.parts) {
    fits.emplace_back(part);
    fits.back().run();
    if (fits.back().windows().empty()) fits.pop_back();
  }
  if (fits.empty()) return std::nullopt;

  OffsetFit result;
  result.resets = static_cast<int64_t>(fits.size()) - 1;
  result.contradicting = split.contradicting;
  KnotList list(cloud);
  const double from = static_cast<double>((covers.begin - cloud.time_of(0)).ns);
  const double to = static_cast<double>((covers.end - cloud.time_of(0)).ns);
  std::vector<double> likely;
  double length = 0;
  std::optional<PartFit::Knot> previous;
  for (const PartFit& fit : fits) {
    const std::vector<PartFit::Knot> knots = fit.knots();
    if (!previous) list.add_before(fit, knots.front().t, from);
    if (previous) list.add_reset(*previous, knots.front());
    for (const PartFit::Knot& knot : knots) list.add(knot);
    previous = knots.back();
    const double weight = std::max(fit.length(), 1.0);
    result.drift += fit.skew() * weight;
    length += weight;
    for (const Window& window : fit.windows()) likely.push_back(window.likely);
  }
  list.add_after(fits.back(), previous->t, to);
  result.drift /= length;
  result.likely_ns = static_cast<int64_t>(std::ceil(median(std::move(likely))));
  result.map = ClockMap(list.take());
  return result;
}

}  // namespace dprof::analyzer
