// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/system.h"

#include <algorithm>

#include "analyzer/run/sensible.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

// Reasons that only say that it has nothing to do, or was told to go slower: idle, application
// clocks, sync boost, display clocks.
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
    case SampleKind::kUuid:
      gpus_[row.value].readings.uuid = uuid_of(reader_.string(row.kind_id));
      break;
    case SampleKind::kSmClock:
    case SampleKind::kMemoryClock:
    case SampleKind::kTemperature:
    case SampleKind::kPower:
    case SampleKind::kReasons:
    case SampleKind::kEcc:
      if (row.subject) see_gpu(gpus_[*row.subject], kind, row.value);
      break;
    default:
      return;
  }
  ++result_.rows;
}

void SystemGatherer::see_gpu(Gpu& gpu, SampleKind kind, int64_t value) {
  switch (kind) {
    case SampleKind::kSmClock:
      gpu.sm_clock.push_back(value);
      ++gpu.readings.samples;
      break;
    case SampleKind::kMemoryClock:
      gpu.memory_clock.push_back(value);
      break;
    case SampleKind::kPower:
      gpu.power.push_back(value);
      break;
    case SampleKind::kTemperature:
      gpu.readings.temperature_c = std::max(gpu.readings.temperature_c.value_or(value), value);
      break;
    case SampleKind::kReasons:
      if ((value & ~kHarmless) == 0) break;
      ++gpu.readings.throttled;
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

SystemDigest SystemGatherer::finish() && {
  for (auto& [index, gpu] : gpus_) {
    gpu.readings.index = index;
    gpu.readings.sm_clock_mhz = median_if_any(std::move(gpu.sm_clock));
    gpu.readings.memory_clock_mhz = median_if_any(std::move(gpu.memory_clock));
    gpu.readings.power_mw = median_if_any(std::move(gpu.power));
    result_.gpus.push_back(std::move(gpu.readings));
  }
  for (auto* counter : {&result_.cpu, &result_.kernel_cpu, &result_.faults})
    counter->shrink_to_fit();
  result_.waits.shrink_to_fit();
  return std::move(result_);
}

std::optional<double> rise_per_step(const std::vector<CounterSample>& samples, Interval span,
                                    double steps) {
  if (samples.empty()) return std::nullopt;
  const auto value_at = [&](TraceNs at) {
    const auto next = std::ranges::upper_bound(samples, at, {}, &CounterSample::at);
    return next == samples.begin() ? next->value : std::prev(next)->value;
  };
  return static_cast<double>(value_at(span.end) - value_at(span.begin)) / steps;
}

}  // namespace dprof::analyzer
