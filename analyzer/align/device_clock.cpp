// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/device_clock.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analyzer/align/hull.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr int64_t kMostResidualNs = 5'000;
constexpr double kMostBeforeLaunch = 0.001;  // share of the kernels

std::span<const DevicePair> pairs_of(const RankDigest& digest, int64_t device) {
  const std::vector<DevicePair>& all = digest.clock.devices;
  return {std::ranges::lower_bound(all, device, {}, &DevicePair::device),
          std::ranges::upper_bound(all, device, {}, &DevicePair::device)};
}

}  // namespace

std::optional<int64_t> residual_of(std::span<const DevicePair> pairs) {
  if (pairs.size() < 3) return std::nullopt;
  std::vector<int64_t> widths;
  for (const DevicePair& pair : pairs) widths.push_back(pair.width_ns);
  const int64_t usual = median_ns(std::move(widths));
  std::vector<Point> floor;
  std::vector<Point> ceiling;
  const DevicePair& first = pairs.front();
  for (const DevicePair& pair : pairs) {
    if (pair.width_ns > usual) continue;
    const auto t = static_cast<double>((pair.at - first.at).ns);
    const auto v = static_cast<double>(pair.device_ns - first.device_ns) - t;
    const double half = static_cast<double>(pair.width_ns) / 2;
    floor.push_back({t, v - half});
    ceiling.push_back({t, v + half});
  }
  const double middle = (floor.front().t + floor.back().t) / 2;
  const Line low = edge_over(upper_hull(floor), middle);
  const Line high = edge_over(lower_hull(ceiling), middle);
  const Line line{(low.slope + high.slope) / 2, {middle, (low.at(middle) + high.at(middle)) / 2}};
  double most = 0;
  for (size_t i = 0; i < floor.size(); ++i) {
    const double at = line.at(floor[i].t);
    most = std::max({most, floor[i].v - at, at - ceiling[i].v});
  }
  return static_cast<int64_t>(std::ceil(most));
}

std::vector<DeviceClock> device_clocks(std::span<const RankDigest> digests) {
  std::vector<DeviceClock> result;
  for (const RankDigest& digest : digests) {
    std::map<int64_t, DeviceClock> devices;
    const auto entry_of = [&](int64_t device) -> DeviceClock& {
      DeviceClock& entry = devices[device];
      entry.rank = digest.rank;
      entry.device = device;
      return entry;
    };
    for (const DevicePair& pair : digest.clock.devices) entry_of(pair.device);
    for (const DeviceDigest& device : digest.gpu.devices) {
      DeviceClock& clock = entry_of(device.device);
      clock.kernels = device.linked;
      clock.before_launch = device.before_launch;
    }
    for (auto& [device, clock] : devices) {
      clock.residual_ns = residual_of(pairs_of(digest, device));
      clock.reliable = clock.residual_ns.value_or(0) <= kMostResidualNs &&
                       static_cast<double>(clock.before_launch) <=
                           kMostBeforeLaunch * static_cast<double>(clock.kernels);
      result.push_back(clock);
    }
  }
  return result;
}

}  // namespace dprof::analyzer
