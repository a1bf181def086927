// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/link_fit.h"

#include <algorithm>
#include <cmath>

#include "analyzer/breakdown/communication.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kEnvelope = 0.1;
// More sizes would have too many pairs of slopes; they are thinned out evenly.
constexpr size_t kMostSizes = 512;

struct Point {
  double bytes;
  double ns;
};

std::vector<Point> thinned(std::vector<Point> points) {
  if (points.size() <= kMostSizes) return points;
  std::vector<Point> some;
  for (size_t i = 0; i < kMostSizes; ++i)
    some.push_back(points[i * (points.size() - 1) / (kMostSizes - 1)]);
  return some;
}

std::optional<double> slope_of(const std::vector<Point>& points) {
  std::vector<double> slopes;
  for (size_t i = 0; i < points.size(); ++i) {
    for (size_t j = i + 1; j < points.size(); ++j)
      slopes.push_back((points[j].ns - points[i].ns) / (points[j].bytes - points[i].bytes));
  }
  const double slope = median(std::move(slopes));
  return slope > 0 ? std::optional(slope) : std::nullopt;
}

}  // namespace

std::optional<LinearCost> fit_cost(std::span<const SizedTransfers> sizes, const FitLimits& limits) {
  LinearCost cost;
  std::map<int64_t, std::vector<double>> by_size;
  for (const SizedTransfers& size : sizes) {
    if (size.bytes <= 0 || size.transfers_ns.size() < kFewestTransfersOfSize) continue;
    std::vector<double>& all = by_size[size.bytes];
    all.insert(all.end(), size.transfers_ns.begin(), size.transfers_ns.end());
    cost.n += static_cast<int64_t>(size.transfers_ns.size());
  }
  if (by_size.size() < limits.sizes ||
      by_size.rbegin()->first / limits.ratio < by_size.begin()->first)
    return std::nullopt;
  cost.sizes = static_cast<int64_t>(by_size.size());
  std::vector<Point> points;
  for (auto& [bytes, transfers] : by_size)
    points.push_back({static_cast<double>(bytes), quantile(std::move(transfers), kEnvelope)});
  points = thinned(std::move(points));
  const std::optional<double> slope = slope_of(points);
  if (!slope) return std::nullopt;
  cost.beta_ns_per_byte = *slope;
  std::vector<double> intercepts;
  for (const Point& p : points) intercepts.push_back(p.ns - *slope * p.bytes);
  cost.alpha_ns = std::max(0.0, median(std::move(intercepts)));
  std::vector<double> residuals;
  for (const Point& p : points) {
    const double fitted = cost.alpha_ns + *slope * p.bytes;
    residuals.push_back(std::abs(p.ns - fitted) / std::max(1.0, p.ns));
  }
  cost.residual = median(std::move(residuals));
  return cost;
}

std::map<GroupFunction, LinearCost> fit_costs(const Matching& matching, const FitLimits& limits) {
  std::map<GroupFunction, std::map<int64_t, SizedTransfers>> all;
  const auto add = [&](GroupFunction kind, const std::optional<int64_t>& bytes, int64_t transfer) {
    if (!bytes || *bytes <= 0 || transfer <= 0) return;
    SizedTransfers& size = all[kind][*bytes];
    size.bytes = *bytes;
    size.transfers_ns.push_back(transfer);
  };
  for (const Instance& instance : matching.instances) {
    if (instance.comparable && !instance.guessed)
      add({instance.group, instance.function}, instance.bytes, instance.transfer_ns);
  }
  for (const Message& message : matching.messages) {
    if (message.transfer_ns)
      add({message.group, schema::Function::kSend}, message.bytes, *message.transfer_ns);
  }
  std::map<GroupFunction, LinearCost> costs;
  for (auto& [kind, by_size] : all) {
    std::vector<SizedTransfers> sizes;
    for (auto& [bytes, size] : by_size) sizes.push_back(std::move(size));
    if (const std::optional<LinearCost> cost = fit_cost(sizes, limits)) costs.emplace(kind, *cost);
  }
  return costs;
}

std::vector<LinkFit> link_fits_of(std::span<const RankDigest> /*digests*/,
                                  const Matching& matching) {
  std::vector<LinkFit> fits;
  for (const auto& [kind, cost] : fit_costs(matching)) {
    fits.push_back({.communicator = matching.groups[kind.first].name,
                    .function = kind.second,
                    .sizes = cost.sizes,
                    .n = cost.n,
                    .alpha_ns = cost.alpha_ns,
                    .beta_ns_per_byte = cost.beta_ns_per_byte,
                    .half_bytes = cost.alpha_ns / cost.beta_ns_per_byte,
                    .residual = cost.residual});
  }
  return fits;
}

}  // namespace dprof::analyzer
