// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/system.h"

#include <algorithm>
#include <map>

#include "analyzer/run/sensible.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

// Reasons that only say that it has nothing to do, or was told to go slower: idle, application
// clocks, sync boost, display clocks.
constexpr int64_t kHarmless = 0x1 | 0x2 | 0x10 | 0x100;

enum class SampleKind : uint8_t {
  kOther,
  kThreadCpu,
  kThreadWait,
  kKernelCpu,
  kMinorFaults,
  kSmClock,
  kMemoryClock,
  kTemperature,
  kPower,
  kReasons,
  kEcc,
  kUuid,
};

SampleKind kind_of(std::string_view name) {
  if (name == "thread.cpu_ns") return SampleKind::kThreadCpu;
  if (name == schema::kThreadWaitKind) return SampleKind::kThreadWait;
  if (name == "process.kernel_cpu_ns") return SampleKind::kKernelCpu;
  if (name == "process.minor_faults") return SampleKind::kMinorFaults;
  if (name == "gpu.sm_clock_mhz") return SampleKind::kSmClock;
  if (name == "gpu.memory_clock_mhz") return SampleKind::kMemoryClock;
  if (name == "gpu.temperature_c") return SampleKind::kTemperature;
  if (name == "gpu.power_mw") return SampleKind::kPower;
  if (name == "gpu.throttle_reasons_mask") return SampleKind::kReasons;
  if (name == "gpu.ecc_uncorrected") return SampleKind::kEcc;
  return name.starts_with(kUuidPrefix) ? SampleKind::kUuid : SampleKind::kOther;
}

struct Gathered {
  GpuReadings readings;
  std::vector<int64_t> sm_clock;
  std::vector<int64_t> memory_clock;
  std::vector<int64_t> power;
  std::optional<int64_t> first_ecc;
};

std::optional<int64_t> middle(std::vector<int64_t> values) {
  if (values.empty()) return std::nullopt;
  return median_ns(std::move(values));
}

class SystemReader {
 public:
  SystemReader(const TraceFile& trace, const schema::TraceReader& reader)
      : trace_(trace), reader_(reader) {}

  Result<SystemDigest> run() && {
    const Status threads = reader_.for_each<schema::ThreadRow>([&](const schema::ThreadRow& row) {
      if (row.role == schema::ThreadRole::kMain && !main_thread_) main_thread_ = row.os_tid;
    });
    if (!threads.ok()) return fail(threads.error());
    const Status samples = reader_.for_each<schema::SystemSampleRow>(
        [&](const schema::SystemSampleRow& row) { take(row); });
    if (!samples.ok()) return fail(samples.error());
    for (auto& [index, gpu] : gpus_) {
      gpu.readings.index = index;
      gpu.readings.sm_clock_mhz = middle(std::move(gpu.sm_clock));
      gpu.readings.memory_clock_mhz = middle(std::move(gpu.memory_clock));
      gpu.readings.power_mw = middle(std::move(gpu.power));
      result_.gpus.push_back(std::move(gpu.readings));
    }
    for (auto* counter : {&result_.cpu, &result_.kernel_cpu, &result_.faults})
      counter->shrink_to_fit();
    result_.waits.shrink_to_fit();
    return std::move(result_);
  }

 private:
  void take(const schema::SystemSampleRow& row) {
    if (!sensible(row.time_ns)) return;
    const std::string_view name = reader_.string(row.kind_id);
    const SampleKind kind = kind_of(name);
    if (kind == SampleKind::kOther) return;
    ++result_.rows;
    if (kind == SampleKind::kThreadCpu) {
      if (row.subject && row.subject == main_thread_)
        result_.cpu.push_back({{row.time_ns + trace_.shift_ns}, row.value});
      return;
    }
    if (kind == SampleKind::kKernelCpu || kind == SampleKind::kMinorFaults) {
      (kind == SampleKind::kKernelCpu ? result_.kernel_cpu : result_.faults)
          .push_back({{row.time_ns + trace_.shift_ns}, row.value});
      return;
    }
    if (kind == SampleKind::kThreadWait) {
      if (row.subject && row.subject == main_thread_) {
        result_.waits.push_back(
            {{row.time_ns + trace_.shift_ns}, schema::thread_wait_of(row.value)});
      }
      return;
    }
    if (kind == SampleKind::kUuid) {
      gpus_[row.value].readings.uuid = name.substr(kUuidPrefix.size());
      return;
    }
    if (row.subject) take_gpu(kind, row.value, gpus_[*row.subject]);
  }

  static void take_gpu(SampleKind kind, int64_t value, Gathered& gpu) {
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

  const TraceFile& trace_;
  const schema::TraceReader& reader_;
  std::optional<int64_t> main_thread_;
  std::map<int64_t, Gathered> gpus_;
  SystemDigest result_;
};

}  // namespace

Result<SystemDigest> read_system(const TraceFile& trace, const schema::TraceReader& reader) {
  return SystemReader(trace, reader).run();
}

}  // namespace dprof::analyzer
