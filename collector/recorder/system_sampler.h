// SPDX-License-Identifier: Apache-2.0
// Reads what the system says of the recorded processes, from outside: CPU and run-queue delay of
// their threads, resident memory, GPUs (NVML), network counters.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "collector/recorder/clock.h"
#include "collector/recorder/inbox.h"

namespace dprof::recorder {

// A process to look at, and where its samples go.
struct Sampled {
  int pid = 0;  // in the recorder's namespace
  std::function<void(Measured)> deliver;
};

// Threading  called by the recorder's loop, at least once a second; keeps no thread.
class SystemSampler {
 public:
  explicit SystemSampler(const RunClock& clock) : clock_(clock) {}

  // One round over the processes; what is gone is skipped. Samples of the host go to the first.
  void sample(const std::vector<Sampled>& processes);

 private:
  const RunClock& clock_;
};

}  // namespace dprof::recorder
