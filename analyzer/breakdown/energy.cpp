// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "analyzer/digest/gpu_readings.h"

namespace dprof::analyzer {
namespace {

constexpr double kMostOpen = 0.25;  // uncertain share of a span's energy, at its borders
constexpr double kMilli = 1e-3;
constexpr double kMicro = 1e-6;

struct Drawn {
  double all = 0;
  double open = 0;  // uncertain part, at most: between the samples around the span's borders
};

// nullopt = the samples do not cover the span, or are too far apart for it.
std::optional<Drawn> drawn_in(const std::vector<CounterSample>& samples, Interval span) {
  if (samples.size() < 2 || span.empty()) return std::nullopt;
  const auto gap_at = [&](TraceNs at) {
    const auto next = std::ranges::upper_bound(samples, at, {}, &CounterSample::at);
    if (next == samples.begin() || next == samples.end() || std::prev(next)->at == at) return 0.0;
    return static_cast<double>(next->value - std::prev(next)->value);
  };
  // Steps begin and end within a sample's time of the recording's own ends.
  const DurationNs usual{(samples.back().at - samples.front().at).ns /
                         static_cast<int64_t>(samples.size() - 1)};
  if (samples.front().at > span.begin + usual || samples.back().at + usual < span.end)
    return std::nullopt;
  const double recorded = static_cast<double>(
      (std::min(span.end, samples.back().at) - std::max(span.begin, samples.front().at)).ns);
  if (recorded <= 0) return std::nullopt;
  const double within = value_at(samples, span.end) - value_at(samples, span.begin);
  const double all = within * static_cast<double>(span.length().ns) / recorded;
  const Drawn drawn{all, gap_at(span.begin) + gap_at(span.end) + (all - within)};
  if (all <= 0 || drawn.open > kMostOpen * all) return std::nullopt;
  return drawn;
}

bool is_at_work(Category category) {
  return category <= Category::kOverlapped || category == Category::kExposedTransfer ||
         category == Category::kCopy;
}

class EnergySum {
 public:
  EnergySum(std::span<const RankDigest> digests, std::span<const TraceFile> traces,
            const Steps& steps, const Breakdown& breakdown)
      : digests_(digests), traces_(traces), steps_(steps), breakdown_(breakdown) {}

  Energy run() {
    const ReadingsOfGpus readings(digests_);
    std::map<const GpuReadings*, int64_t> users;
    for (const size_t d : steps_.ranks) {
      if (const GpuReadings* gpu = gpu_of(readings, d)) ++users[gpu];
    }
    for (size_t entry = 0; entry < steps_.ranks.size(); ++entry) {
      const size_t d = steps_.ranks[entry];
      if (const GpuReadings* gpu = gpu_of(readings, d)) add_rank(entry, d, *gpu, users[gpu]);
      add_host(entry, d);
    }
    const size_t ranks = steps_.ranks.size();
    const size_t without = ranks - result_.per_rank.size();
    if (without > 0) result_.missing = why_none(readings);
    if (without > 0 && without < ranks)
      result_.missing = fmt::format("{} of {} ranks: {}", without, ranks, result_.missing);
    return std::move(result_);
  }

 private:
  const GpuReadings* gpu_of(const ReadingsOfGpus& readings, size_t d) const {
    const DeviceFact* device = busiest_device(digests_[d]);
    if (device == nullptr || device->kernels == 0) return nullptr;
    const GpuReadings* gpu = readings.of(digests_[d], device);
    return gpu != nullptr && !gpu->energy_mj.empty() ? gpu : nullptr;
  }

  [[nodiscard]] Interval span_of(size_t entry) const {
    const std::span<const AlignedStep> steady = steps_.steady();
    return {steady.front().windows[entry].begin, steady.back().windows[entry].end};
  }

  void add_rank(size_t entry, size_t d, const GpuReadings& gpu, int64_t users) {
    const std::optional<Drawn> drawn = drawn_in(gpu.energy_mj, span_of(entry));
    if (!drawn) {
      too_short_ = true;
      return;
    }
    const double per_step =
        kMilli / static_cast<double>(steps_.steady().size()) / static_cast<double>(users);
    RankEnergy rank{.rank = digests_[d].rank,
                    .gpu = gpu.uuid,
                    .shared_by = users,
                    .step_j = drawn->all * per_step,
                    .bound_j = drawn->open * per_step,
                    .from_power = gpu.energy_from_power};
    const RankBreakdown& of_rank = breakdown_.per_rank[entry];
    if (of_rank.wall_ns > 0) {
      int64_t at_work = 0;
      for (size_t c = 0; c < kCategories; ++c) {
        if (is_at_work(static_cast<Category>(c))) at_work += of_rank.category_ns[c];
      }
      rank.waiting_j = rank.step_j * static_cast<double>(of_rank.wall_ns - at_work) /
                       static_cast<double>(of_rank.wall_ns);
    }
    if (const int64_t all = gpu.energy_mj.back().value; all > 0 && gpu.throttled_mj)
      rank.throttled_share = static_cast<double>(*gpu.throttled_mj) / static_cast<double>(all);
    result_.per_rank.push_back(std::move(rank));
  }

  // Each recorder of a host samples it: only one counts.
  void add_host(size_t entry, size_t d) {
    const std::string& host = traces_[d].host;
    if (hosts_.contains(host)) return;
    const std::optional<Drawn> drawn = drawn_in(digests_[d].system.host_energy_uj, span_of(entry));
    if (!drawn) return;
    hosts_.insert(host);
    const double per_step = kMicro / static_cast<double>(steps_.steady().size());
    result_.per_host.push_back({host, drawn->all * per_step, drawn->open * per_step});
  }

  [[nodiscard]] std::string why_none(const ReadingsOfGpus& readings) const {
    if (too_short_) return "the steady steps are too short for samples that are a second apart";
    for (const size_t d : steps_.ranks) {
      const DeviceFact* device = busiest_device(digests_[d]);
      if (device == nullptr || device->kernels == 0 || gpu_of(readings, d) != nullptr) continue;
      return readings.of(digests_[d], device) == nullptr
                 ? "the GPUs were not sampled"
                 : "the GPUs report neither energy nor power";
    }
    return result_.per_host.empty()
               ? "no GPU was used, and the processors' counters (RAPL) are missing or readable by root "
                 "alone"
               : "no GPU was used";
  }

  std::span<const RankDigest> digests_;
  std::span<const TraceFile> traces_;
  const Steps& steps_;
  const Breakdown& breakdown_;
  Energy result_;
  std::set<std::string_view> hosts_;  // already counted
  bool too_short_ = false;
};

}  // namespace

Energy energy_of(std::span<const RankDigest> digests, std::span<const TraceFile> traces,
                 const Steps& steps, const Breakdown& breakdown) {
  return EnergySum(digests, traces, steps, breakdown).run();
}

}  // namespace dprof::analyzer
