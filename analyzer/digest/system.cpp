// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/system.h"

#include <algorithm>
#include <cmath>

#include "analyzer/run/sensible.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

// Reasons that only mean that it is idle or was told to go slower: idle, application clocks, sync
// boost, display clocks.
constexpr int64_t kHarmless = 0x1 | 0x2 | 0x10 | 0x100;

constexpr std::string_view kUuidPrefix = "gpu.uuid.";

constexpr std::pair<std::string_view, SampleKind> kSampleNames[] = {
    {"thread.cpu_ns", SampleKind::kThreadCpu},
    {"thread.run_queue_ns", SampleKind::kThreadRunQueue},
    {schema::kThreadWaitKind, SampleKind::kThreadWait},
    {"process.kernel_cpu_ns", SampleKind::kKernelCpu},
    {"process.minor_faults", SampleKind::kMinorFaults},
    {"gpu.sm_clock_mhz", SampleKind::kSmClock},
    {"gpu.memory_clock_mhz", SampleKind::kMemoryClock},
    {"gpu.temperature_c", SampleKind::kTemperature},
    {"gpu.power_mw", SampleKind::kPower},
    {"gpu.power_limit_mw", SampleKind::kPowerLimit},
    {"gpu.energy_mj", SampleKind::kGpuEnergy},
    {"gpu.throttle_reasons_mask", SampleKind::kReasons},
    {"gpu.ecc_uncorrected", SampleKind::kEcc},
    {"gpu.memory_used_bytes", SampleKind::kMemoryUsed},
    {"gpu.memory_total_bytes", SampleKind::kMemoryTotal},
    {"host.load_1min_milli", SampleKind::kLoad},
    {"host.runnable_threads", SampleKind::kRunnableThreads},
    {"host.memory_available_bytes", SampleKind::kMemoryAvailable},
    {"cgroup.memory_bytes", SampleKind::kCgroupMemory},
    {"cgroup.memory_limit_bytes", SampleKind::kCgroupLimit},
    {"cgroup.oom_kills", SampleKind::kOomKills},
    {"host.package_energy_uj", SampleKind::kHostEnergy},
    {"host.dram_energy_uj", SampleKind::kHostEnergy},
};

SampleKind kind_of_sample(std::string_view name) {
  for (const auto& [known, kind] : kSampleNames) {
    if (name == known) return kind;
  }
  return name.starts_with(kUuidPrefix) ? SampleKind::kUuid : SampleKind::kOther;
}

}  // namespace

std::vector<SampleKind> sample_kinds(const std::vector<std::string>& strings) {
  std::vector<SampleKind> kinds;
  for (const std::string& name : strings) kinds.push_back(kind_of_sample(name));
  return kinds;
}

std::string uuid_of(const std::string& kind) { return kind.substr(kUuidPrefix.size()); }

void SystemGatherer::see(const schema::ThreadRow& row) {
  if (row.role == schema::ThreadRole::kMain && !main_thread_) main_thread_ = row.os_tid;
}

void SystemGatherer::see(const schema::SystemSampleRow& row, SampleKind kind) {
  if (!sensible(row.time_ns)) return;
  const CounterSample sample{{row.time_ns + shift_ns_}, row.value};
  const bool of_main = row.subject && row.subject == main_thread_;
  switch (kind) {
    case SampleKind::kThreadCpu:
      if (of_main) result_.cpu.push_back(sample);
      break;
    case SampleKind::kThreadWait:
      if (of_main) result_.waits.push_back({sample.at, schema::thread_wait_of(row.value)});
      break;
    case SampleKind::kKernelCpu:
      result_.kernel_cpu.push_back(sample);
      break;
    case SampleKind::kMinorFaults:
      result_.faults.push_back(sample);
      break;
    case SampleKind::kOomKills:
      if (!first_oom_kills_) first_oom_kills_ = row.value;
      result_.oom_kills = std::max<int64_t>(0, row.value - *first_oom_kills_);
      break;
    case SampleKind::kHostEnergy: {
      const auto [zone, is_new] =
          zones_uj_.try_emplace({row.kind_id, row.subject.value_or(0)}, sample.value);
      const int64_t before =
          result_.host_energy_uj.empty() ? 0 : result_.host_energy_uj.back().value;
      result_.host_energy_uj.push_back(
          {sample.at, before + std::max<int64_t>(0, sample.value - zone->second)});
      zone->second = sample.value;
      break;
    }
    case SampleKind::kUuid:
      gpus_[row.value].readings.uuid = uuid_of(reader_.string(row.kind_id));
      break;
    case SampleKind::kSmClock:
    case SampleKind::kMemoryClock:
    case SampleKind::kTemperature:
    case SampleKind::kPower:
    case SampleKind::kGpuEnergy:
    case SampleKind::kReasons:
    case SampleKind::kEcc:
      if (row.subject) see_gpu(gpus_[*row.subject], kind, sample);
      break;
    default:
      return;
  }
  ++result_.rows;
}

void SystemGatherer::see_gpu(Gpu& gpu, SampleKind kind, CounterSample sample) {
  const int64_t value = sample.value;
  switch (kind) {
    case SampleKind::kSmClock:
      gpu.sm_clock.push_back(value);
      ++gpu.readings.samples;
      break;
    case SampleKind::kMemoryClock:
      gpu.memory_clock.push_back(value);
      break;
    case SampleKind::kPower:
      gpu.power.push_back(sample);
      break;
    case SampleKind::kGpuEnergy:
      // Restarts at 0 when the driver is reloaded: earlier values are dropped.
      if (!gpu.energy.empty() && value < gpu.energy.back().value) gpu.energy.clear();
      gpu.energy.push_back(sample);
      break;
    case SampleKind::kTemperature:
      gpu.readings.temperature_c = std::max(gpu.readings.temperature_c.value_or(value), value);
      break;
    case SampleKind::kReasons:
      ++gpu.readings.reason_samples;
      if ((value & ~kHarmless) == 0) break;
      ++gpu.readings.throttled;
      gpu.throttled.push_back(sample.at);
      gpu.readings.throttle_reasons |= value & ~kHarmless;
      break;
    case SampleKind::kEcc:
      if (!gpu.first_ecc) gpu.first_ecc = value;
      gpu.readings.new_ecc_errors = std::max<int64_t>(0, value - *gpu.first_ecc);
      break;
    default:
      break;
  }
}

void SystemGatherer::finish_energy(Gpu& gpu) {
  constexpr double kMwNsPerMj = 1e9;
  std::vector<CounterSample>& curve = gpu.readings.energy_mj;
  if (gpu.energy.size() >= 2) {
    curve = std::move(gpu.energy);
    const int64_t first = curve.front().value;
    for (CounterSample& sample : curve) sample.value -= first;
  } else if (gpu.power.size() >= 2) {
    gpu.readings.energy_from_power = true;
    double sum_mj = 0;
    curve.push_back({gpu.power.front().at, 0});
    for (size_t i = 1; i < gpu.power.size(); ++i) {
      const CounterSample& before = gpu.power[i - 1];
      const CounterSample& now = gpu.power[i];
      sum_mj += static_cast<double>(std::max<int64_t>(0, (now.at - before.at).ns)) *
                static_cast<double>(before.value + now.value) / 2 / kMwNsPerMj;
      curve.push_back({now.at, std::llround(sum_mj)});
    }
  }
  if (!std::ranges::is_sorted(curve, {}, &CounterSample::at)) return curve.clear();
  if (gpu.readings.reason_samples == 0) return;
  gpu.readings.throttled_mj = 0;
  auto throttled = gpu.throttled.begin();
  for (size_t i = 1; i < curve.size(); ++i) {
    bool within = false;
    for (; throttled != gpu.throttled.end() && *throttled <= curve[i].at; ++throttled)
      within = within || *throttled > curve[i - 1].at;
    if (within) *gpu.readings.throttled_mj += curve[i].value - curve[i - 1].value;
  }
}

SystemDigest SystemGatherer::finish() && {
  for (auto& [index, gpu] : gpus_) {
    gpu.readings.index = index;
    gpu.readings.sm_clock_mhz = median_if_any(std::move(gpu.sm_clock));
    gpu.readings.memory_clock_mhz = median_if_any(std::move(gpu.memory_clock));
    std::vector<int64_t> power;
    for (const CounterSample& sample : gpu.power) power.push_back(sample.value);
    gpu.readings.power_mw = median_if_any(std::move(power));
    finish_energy(gpu);
    result_.gpus.push_back(std::move(gpu.readings));
  }
  std::vector<CounterSample>& host = result_.host_energy_uj;
  if (!std::ranges::is_sorted(host, {}, &CounterSample::at)) host.clear();
  for (auto* counter : {&result_.cpu, &result_.kernel_cpu, &result_.faults, &host})
    counter->shrink_to_fit();
  result_.waits.shrink_to_fit();
  return std::move(result_);
}

double value_at(const std::vector<CounterSample>& samples, TraceNs at) {
  const auto next = std::ranges::upper_bound(samples, at, {}, &CounterSample::at);
  if (next == samples.begin()) return static_cast<double>(next->value);
  const CounterSample& before = *std::prev(next);
  if (next == samples.end()) return static_cast<double>(before.value);
  const double share =
      static_cast<double>((at - before.at).ns) / static_cast<double>((next->at - before.at).ns);
  return static_cast<double>(before.value) +
         share * static_cast<double>(next->value - before.value);
}

std::optional<double> rise_per_step(const std::vector<CounterSample>& samples, Interval span,
                                    double steps) {
  if (samples.empty()) return std::nullopt;
  const auto last_before = [&](TraceNs at) {
    const auto next = std::ranges::upper_bound(samples, at, {}, &CounterSample::at);
    return next == samples.begin() ? next->value : std::prev(next)->value;
  };
  return static_cast<double>(last_before(span.end) - last_before(span.begin)) / steps;
}

}  // namespace dprof::analyzer
