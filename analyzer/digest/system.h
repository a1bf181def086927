// SPDX-License-Identifier: Apache-2.0
// Samples of the machine while a rank ran: GPU clocks, temperature and throttling, the CPU time of
// its training thread and what it waited for, time in the kernel and pages of the whole process.
// Its run-queue delay is in RankDigest::run_queue.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/interval.h"
#include "schema/thread_wait.h"
#include "schema/trace_reader.h"

namespace dprof::analyzer {

// What the rows of system_sample are about, by the name of their kind.
enum class SampleKind : uint8_t {
  kOther,
  kThreadCpu,  // subject: a thread
  kThreadRunQueue,
  kThreadWait,
  kKernelCpu,  // of the process
  kMinorFaults,
  kSmClock,  // subject: a GPU, as in all of these
  kMemoryClock,
  kTemperature,
  kPower,
  kPowerLimit,
  kGpuEnergy,
  kReasons,
  kEcc,
  kMemoryUsed,
  kMemoryTotal,
  kUuid,  // of the GPU that is its value: the name has it
  kLoad,  // of the host
  kRunnableThreads,
  kMemoryAvailable,
  kCgroupMemory,
  kCgroupLimit,
  kOomKills,
  kHostEnergy,  // subject: a processor, or its memory
};

// By id of the kind's name.
[[nodiscard]] std::vector<SampleKind> sample_kinds(const std::vector<std::string>& strings);
// What the name of a kUuid says.
[[nodiscard]] std::string uuid_of(const std::string& kind);

// A sum since the process or thread began. No sample where it stayed the same.
struct CounterSample {
  TraceNs at;
  int64_t value = 0;
};

// What the training thread was doing at that moment.
struct WaitSample {
  TraceNs at;
  schema::ThreadWait wait = schema::ThreadWait::kOther;
};

// Of one GPU, over all samples. The trace of the lowest rank of a host has those of all its GPUs.
struct GpuReadings {
  int64_t index = 0;  // NVML's
  std::string uuid;   // "" = not told
  int64_t samples = 0;
  std::optional<int64_t> sm_clock_mhz;      // median
  std::optional<int64_t> memory_clock_mhz;  // median
  std::optional<int64_t> temperature_c;     // highest
  std::optional<int64_t> power_mw;          // median
  int64_t reason_samples = 0;               // that say whether it is throttled, and why
  int64_t throttled = 0;                    // samples with a reason that slows computation down
  int64_t throttle_reasons = 0;             // all reasons of these samples together
  int64_t new_ecc_errors = 0;               // uncorrected, while it was recorded
  std::vector<CounterSample> energy_mj;     // drawn since the first sample
  bool energy_from_power = false;           // the GPU has no counter: the integral of its power
  // Of it, up to samples that `throttled` counts. nullopt: no sample says whether it is throttled.
  std::optional<int64_t> throttled_mj;
};

struct SystemDigest {
  int64_t rows = 0;                       // read
  std::vector<CounterSample> cpu;         // ns of the training thread on a CPU
  std::vector<CounterSample> kernel_cpu;  // ns of all threads on a CPU within the kernel
  std::vector<CounterSample> faults;      // pages that the process was given
  std::vector<WaitSample> waits;
  std::vector<GpuReadings> gpus;  // by index
  // Processes of the job's cgroup that the kernel killed for want of memory while it was recorded.
  // The trace of the lowest rank of a host has it for all of them.
  int64_t oom_kills = 0;
  // Drawn by the host's processors and their memory since the first sample. In the same trace.
  std::vector<CounterSample> host_energy_uj;
};

// Of a counter between its samples, by a straight line; before the first one and behind the last
// one these. `samples` are not empty.
[[nodiscard]] double value_at(const std::vector<CounterSample>& samples, TraceNs at);

// How much a counter rose per step; nullopt = never seen. One that stays the same has no samples.
[[nodiscard]] std::optional<double> rise_per_step(const std::vector<CounterSample>& samples,
                                                  Interval span, double steps);

// Calls f(TraceNs&) for each time in it; the order of times must stay as it is.
template <typename F>
void for_each_time(SystemDigest& system, F&& f) {
  for (auto* counter : {&system.cpu, &system.kernel_cpu, &system.faults, &system.host_energy_uj}) {
    for (CounterSample& sample : *counter) f(sample.at);
  }
  for (GpuReadings& gpu : system.gpus) {
    for (CounterSample& sample : gpu.energy_mj) f(sample.at);
  }
  for (WaitSample& sample : system.waits) f(sample.at);
}

// Gathers it from rows as they come. Times on the run's axis, as all of the digest's.
class SystemGatherer {
 public:
  SystemGatherer(const schema::TraceReader& reader, int64_t shift_ns)
      : reader_(reader), shift_ns_(shift_ns) {}

  // All threads come before the first sample.
  void see(const schema::ThreadRow& row);
  void see(const schema::SystemSampleRow& row, SampleKind kind);
  SystemDigest finish() &&;

 private:
  struct Gpu {
    GpuReadings readings;
    std::vector<int64_t> sm_clock;
    std::vector<int64_t> memory_clock;
    std::vector<CounterSample> power;
    std::vector<CounterSample> energy;
    std::vector<TraceNs> throttled;  // when it was
    std::optional<int64_t> first_ecc;
  };
  static void see_gpu(Gpu& gpu, SampleKind kind, CounterSample sample);
  static void finish_energy(Gpu& gpu);

  const schema::TraceReader& reader_;
  const int64_t shift_ns_;
  std::optional<int64_t> main_thread_;  // its number in the kernel
  std::map<int64_t, Gpu> gpus_;
  std::optional<int64_t> first_oom_kills_;
  std::map<std::pair<int64_t, int64_t>, int64_t> zones_uj_;  // by kind and number: the last value
  SystemDigest result_;
};

}  // namespace dprof::analyzer
