// SPDX-License-Identifier: Apache-2.0
// Samples of the machine during a rank's run: GPU clocks, temperature and throttling, the training
// thread's CPU time and wait reason, and the whole process's kernel time and page faults. Its
// run-queue delay is in RankDigest::run_queue.
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

// The kinds of system_sample rows, by the name of their kind.
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
  kUuid,  // of the GPU given as its value: the name contains it
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
// The UUID in the name of a kUuid.
[[nodiscard]] std::string uuid_of(const std::string& kind);

// A total since the process or thread began. Unchanged values have no sample.
struct CounterSample {
  TraceNs at;
  int64_t value = 0;
};

// The training thread's state at that moment.
struct WaitSample {
  TraceNs at;
  schema::ThreadWait wait = schema::ThreadWait::kOther;
};

// Of one GPU, over all samples. The trace of a host's lowest rank has those of all its GPUs.
struct GpuReadings {
  int64_t index = 0;  // NVML's
  std::string uuid;   // "" = unknown
  int64_t samples = 0;
  std::optional<int64_t> sm_clock_mhz;      // median
  std::optional<int64_t> memory_clock_mhz;  // median
  std::optional<int64_t> temperature_c;     // highest
  std::optional<int64_t> power_mw;          // median
  int64_t reason_samples = 0;               // samples with the throttling state and reasons
  int64_t throttled = 0;                    // samples with a reason that slows computation
  int64_t throttle_reasons = 0;             // union of the reasons in these samples
  int64_t new_ecc_errors = 0;               // uncorrected, during the recording
  std::vector<CounterSample> energy_mj;     // drawn since the first sample
  bool energy_from_power = false;           // the GPU has no counter: integral of its power
  // Up to samples that `throttled` counts. nullopt: no sample has the throttling state.
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
  // Energy of the host's processors and memory since the first sample. In the same trace.
  std::vector<CounterSample> host_energy_uj;
};

// A counter's value by linear interpolation between samples; constant before the first and after
// the last one. `samples` must not be empty.
[[nodiscard]] double value_at(const std::vector<CounterSample>& samples, TraceNs at);

// Increase of a counter per step; nullopt = never seen. A constant one has no samples.
[[nodiscard]] std::optional<double> rise_per_step(const std::vector<CounterSample>& samples,
                                                  Interval span, double steps);

// Calls f(TraceNs&) for each time in it; f must preserve the order of times.
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

// Gathers it from a stream of rows. Times are on the run's axis, like the rest of the digest.
class SystemGatherer {
 public:
  SystemGatherer(const schema::TraceReader& reader, int64_t shift_ns)
      : reader_(reader), shift_ns_(shift_ns) {}

  // All threads precede the first sample.
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
  std::optional<int64_t> main_thread_;  // its kernel thread id
  std::map<int64_t, Gpu> gpus_;
  std::optional<int64_t> first_oom_kills_;
  std::map<std::pair<int64_t, int64_t>, int64_t> zones_uj_;  // by kind and number: the last value
  SystemDigest result_;
};

}  // namespace dprof::analyzer
