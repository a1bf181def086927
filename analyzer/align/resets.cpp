// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/resets.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr double kBlockNs = 0.5 * kNsPerSecond;  // a burst of probes, or the like
constexpr double kSlackNs = 2'000;               // timestamp error
constexpr double kWander = 5e-6;                 // largest change of a drift
constexpr double kWorkingDrift = 500e-6;         // no working clock drifts that much

// The possible offsets within a short stretch of time.
struct Block {
  double begin = 0;
  double end = 0;
  double least = -kUnbounded;
  double most = kUnbounded;

  [[nodiscard]] double t() const { return (begin + end) / 2; }
  [[nodiscard]] double width() const { return most - least; }
};

std::vector<Block> blocks_of(const Cloud& cloud, double slope) {
  std::vector<Block> blocks;
  size_t low = 0;
  size_t high = 0;
  const auto block_at = [&](double t) -> Block& {
    if (blocks.empty() || t - blocks.back().begin > kBlockNs) blocks.push_back({t, t});
    blocks.back().end = t;
    return blocks.back();
  };
  while (low < cloud.lower.size() || high < cloud.upper.size()) {
    const bool take_low = high >= cloud.upper.size() ||
                          (low < cloud.lower.size() && cloud.lower[low].t <= cloud.upper[high].t);
    const Point& p = take_low ? cloud.lower[low++] : cloud.upper[high++];
    Block& block = block_at(p.t);
    const double v = p.v - slope * p.t;
    if (take_low) {
      block.least = std::max(block.least, v);
    } else {
      block.most = std::min(block.most, v);
    }
  }
  return blocks;
}

struct Trend {
  double slope = 0;
  double uncertainty = kWorkingDrift;
};

// Slope between blocks a quarter of the time apart (one reset can spoil a quarter of them), from
// the narrower half of the blocks.
Trend trend_of(const std::vector<Block>& blocks) {
  std::vector<double> widths;
  for (const Block& b : blocks) {
    if (b.width() < kUnbounded) widths.push_back(b.width());
  }
  if (widths.empty()) return {};
  const double usual = median(widths);
  std::vector<const Block*> good;
  for (const Block& b : blocks) {
    if (b.width() <= usual) good.push_back(&b);
  }
  const size_t lag = std::max<size_t>(1, good.size() / 4);
  std::vector<double> slopes;
  for (size_t i = 0; i + lag < good.size(); ++i) {
    const Block& a = *good[i];
    const Block& b = *good[i + lag];
    slopes.push_back(((b.least + b.most) - (a.least + a.most)) / 2 / (b.t() - a.t()));
  }
  if (slopes.size() < 2) return {};
  const double apart = (good.back()->t() - good.front()->t()) / 4;
  return {std::clamp(median(slopes), -kWorkingDrift, kWorkingDrift),
          std::min(kWorkingDrift, 2 * (usual + kSlackNs) / apart)};
}

// The offsets at one moment that agree with everything since the last reset.
struct Possible {
  double least = -kUnbounded;
  double most = kUnbounded;
  double t = 0;

  [[nodiscard]] Possible at(double later, double growth) const {
    const double more = growth * std::max(0.0, later - t);
    return {least - more, most + more, later};
  }
  [[nodiscard]] bool agrees(const Block& b) const {
    return b.least <= most + kSlackNs && b.most >= least - kSlackNs;
  }
  void take(const Block& b) {
    least = std::max(least, b.least);
    most = std::min(most, b.most);
    if (least > most) std::swap(least, most);  // can cross because of the slack
  }
};

struct Cuts {
  std::vector<double> at;                           // resets lie between blocks
  std::vector<std::pair<double, double>> left_out;  // blocks that contradict
};

Cuts cuts_of(const std::vector<Block>& blocks, double growth) {
  Cuts cuts;
  Possible now;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Block& block = blocks[i];
    now = now.at(block.t(), growth);
    if (block.width() < -kSlackNs) {  // it contradicts itself
      cuts.left_out.emplace_back(block.begin, block.end);
      continue;
    }
    if (!now.agrees(block)) {
      const bool next_agrees = i + 1 < blocks.size() &&
                               now.at(blocks[i + 1].t(), growth).agrees(blocks[i + 1]) &&
                               blocks[i + 1].width() >= 0;
      if (next_agrees) {
        cuts.left_out.emplace_back(block.begin, block.end);
        continue;
      }
      cuts.at.push_back((blocks[i - 1].end + block.begin) / 2);
      now = {-kUnbounded, kUnbounded, block.t()};
    }
    now.take(block);
  }
  return cuts;
}

}  // namespace

CloudParts split_at_resets(const Cloud& cloud) {
  const Trend trend = trend_of(blocks_of(cloud, 0));
  const Cuts cuts = cuts_of(blocks_of(cloud, trend.slope), kWander + trend.uncertainty);
  CloudParts result;
  result.contradicting = static_cast<int64_t>(cuts.left_out.size());
  result.parts.resize(cuts.at.size() + 1);
  const auto deal = [&](const std::vector<Point>& from, std::vector<Point> CloudPart::*to) {
    for (const Point& p : from) {
      const auto next =
          std::ranges::upper_bound(cuts.left_out, p.t, {}, &std::pair<double, double>::first);
      if (next != cuts.left_out.begin() && p.t <= std::prev(next)->second) continue;
      const auto part =
          static_cast<size_t>(std::ranges::upper_bound(cuts.at, p.t) - cuts.at.begin());
      (result.parts[part].*to).push_back(p);
    }
  };
  deal(cloud.lower, &CloudPart::lower);
  deal(cloud.upper, &CloudPart::upper);
  deal(cloud.middle, &CloudPart::middle);
  std::erase_if(result.parts,
                [](const CloudPart& p) { return p.lower.empty() || p.upper.empty(); });
  for (CloudPart& part : result.parts) {
    part.begin = std::min(part.lower.front().t, part.upper.front().t);
    part.end = std::max(part.lower.back().t, part.upper.back().t);
  }
  return result;
}

}  // namespace dprof::analyzer
