// SPDX-License-Identifier: Apache-2.0
#include "analyzer/memory/leaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "analyzer/memory/categories.h"
#include "analyzer/memory/leak_fit.h"
#include "analyzer/memory/timeline.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kMostSites = 5;
// A resident set also grows through heap fragmentation, filling caches and mapped files.
constexpr LeakRule kResidentRule{.fewest = 20, .smallest_share = 0.02, .smallest_rise = 16e6};

struct Series {
  std::vector<double> x;  // steps
  std::vector<double> y;  // bytes
};

Series of_levels(const DeviceMemory& device, std::span<const Interval> windows,
                 const StepClock& clock) {
  Series series;
  for (const StepLevel& level : levels_in(device.cells, windows, clock)) {
    series.x.push_back(std::floor(level.place));
    series.y.push_back(static_cast<double>(level.level.low));
  }
  return series;
}

Series of_readings(const DeviceMemory& device, std::span<const Interval> windows,
                   const StepClock& clock) {
  Series series;
  if (windows.empty()) return series;
  const Interval steady{windows.front().begin, windows.back().end};
  for (const MemoryReading& reading : device.readings) {
    if (!reading.allocated || reading.at < steady.begin || reading.at > steady.end) continue;
    const std::optional<double> place = clock.place(reading.at);
    if (!place) continue;
    series.x.push_back(*place);
    series.y.push_back(static_cast<double>(*reading.allocated));
  }
  return series;
}

// Blocks allocated while the level rose, in both halves of that time, and still live.
std::vector<LeakSite> sites_of(const RankDigest& digest, const DeviceMemory& device,
                               const StepClock& clock, const LeakFit& fit) {
  struct Found {
    LeakSite site;
    bool early = false;
    bool late = false;
  };
  std::map<std::pair<int32_t, std::string_view>, Found> found;
  for (const HeldBlock& block : device.at_end) {
    const auto place = static_cast<double>(clock.position(block.born));
    if (place < fit.first_x || place > fit.last_x) continue;
    Found& one = found[{block.site, phase_of(block)}];
    (place < (fit.first_x + fit.last_x) / 2 ? one.early : one.late) = true;
    one.site.blocks += block.blocks;
    one.site.bytes += block.bytes;
  }
  std::vector<LeakSite> sites;
  for (auto& [key, one] : found) {
    if (!one.early || !one.late) continue;
    const auto& [site, phase] = key;
    if (site >= 0 && static_cast<size_t>(site) < digest.memory.sites.size())
      one.site.site = digest.memory.sites[static_cast<size_t>(site)];
    one.site.phase = phase;
    sites.push_back(std::move(one.site));
  }
  std::ranges::stable_sort(sites, std::ranges::greater(), &LeakSite::bytes);
  if (sites.size() > kMostSites) sites.resize(kMostSites);
  return sites;
}

LeakSearch judge(const Series& series, MemorySource source, const LeakRule& rule,
                 std::optional<LeakFit>& fit) {
  LeakSearch search;
  if (series.x.size() < rule.fewest) {
    search.why_not = fmt::format("{} points of {} within steady steps, and {} are needed",
                                 series.x.size(), word_of(source), rule.fewest);
    return search;
  }
  search.judged = true;
  fit = fit_leak(series.x, series.y, rule);
  if (!fit) return search;
  search.leak = Leak{.bytes_per_step = std::llround(fit->slope),
                     .bound = std::llround(std::ceil(fit->bound)),
                     .source = source,
                     .steps = static_cast<int64_t>(series.x.size()),
                     .risen_bytes = std::llround(fit->rise)};
  return search;
}

}  // namespace

LeakSearch find_leak(const RankDigest& digest, const DeviceMemory& device,
                     std::span<const Interval> windows) {
  const StepClock clock(digest);
  const bool gaps = device.device < 0 ? digest.memory.host_gaps : digest.memory.device_gaps;
  // Lost frees look like a leak unless the allocator's own totals are recorded.
  const bool has_levels = !device.cells.empty() && (device.own_totals || !gaps);
  LeakSearch search;
  std::optional<LeakFit> fit;
  if (has_levels) {
    const MemorySource source =
        device.own_totals ? MemorySource::kAllocatorEvents : MemorySource::kCountedEvents;
    search = judge(of_levels(device, windows, clock), source, {}, fit);
    if (search.leak) search.leak->sites = sites_of(digest, device, clock, *fit);
  }
  if (!search.leak && (device.device < 0 || !search.judged)) {
    const bool host = device.device < 0;
    LeakSearch other = judge(of_readings(device, windows, clock),
                             host ? MemorySource::kResident : MemorySource::kStepSamples,
                             host ? kResidentRule : LeakRule{}, fit);
    const bool better = !search.judged && (other.judged || search.why_not.empty());
    if (other.leak || better) search = std::move(other);
  }
  if (search.leak) {
    search.leak->rank = digest.rank;
    search.leak->device = device.device;
  }
  return search;
}

}  // namespace dprof::analyzer
