// SPDX-License-Identifier: Apache-2.0
// Samples the system's view of the recorded processes, from outside: CPU and run-queue delay of
// their threads, resident memory, the host's load, GPUs (NVML), network counters. docs/system.md
// lists each kind of sample.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "collector/recorder/common/clock.h"
#include "collector/recorder/rows/inbox.h"
#include "collector/recorder/system/nvml_sampler.h"
#include "collector/recorder/system/proc_files.h"
#include "collector/recorder/system/proc_host.h"
#include "collector/recorder/system/proc_process.h"

namespace dprof::recorder {

// A process to sample, and the destination of its samples.
struct Sampled {
  int pid = 0;       // in the recorder's namespace
  int pidfd = -1;    // -1 = none
  uint64_t key = 0;  // with the pid it names one recording: exec keeps the pid
  std::optional<int> rank;
  bool leads = false;  // it recorded something, and no other process of its rank started it
  Deliver deliver;
};

// Host-wide samples go to the leading process of the lowest rank, so that a recorder's traces
// contain them once.
//
// Lifetime   outlives the inboxes that it delivers to: it owns the names of some kinds.
// Threading  called by the recorder's loop; NVML has its own thread.
// Cost       bounded: kMostThreads threads are sampled in a round, or kLeastThreads of each
//            process; docs/system.md has figures. interval() is longer after an expensive round,
//            and look_interval() after an expensive look.
class SystemSampler {
 public:
  explicit SystemSampler(const RunClock& clock, SystemRoots roots = {});

  // One round over the processes; ended ones are skipped.
  void sample(const std::vector<Sampled>& processes);

  // Until the next round: at most a second.
  [[nodiscard]] std::chrono::milliseconds interval() const { return interval_; }

  // The current waits of the processes' main threads: of the processes in the last round.
  void look(const std::vector<Sampled>& processes);

  // Until the next look: random, so that looks never synchronise with the job's own rhythm.
  [[nodiscard]] std::chrono::microseconds look_interval();

 private:
  using Key = std::pair<int, uint64_t>;
  static constexpr size_t kMostThreads = 1024;
  static constexpr size_t kLeastThreads = 24;

  void sample_host(const std::vector<Sampled>& processes);

  const RunClock& clock_;
  SystemRoots roots_;
  KindNames names_;
  FileText file_;
  std::map<Key, std::unique_ptr<ProcessSampler>> processes_;
  HostSampler host_;
  NvmlSampler gpus_;
  std::optional<Key> host_goes_to_;
  std::chrono::milliseconds interval_;
  int64_t look_ns_ = 0;  // CPU time of the last look
  std::minstd_rand random_;
};

}  // namespace dprof::recorder
