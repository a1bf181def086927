// SPDX-License-Identifier: Apache-2.0
// Clocks, power, temperature, throttling and memory of the host's GPUs, by NVML.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "collector/recorder/common/clock.h"
#include "collector/recorder/rows/inbox.h"
#include "collector/recorder/system/nvml_table.h"

namespace dprof::recorder {

// Loads the library, `DPROF_NVML_LIBRARY` or libnvidia-ml.so.1, for good, and fills in the table.
// kNotFound when it is not there, kUnsupported when it lacks what is needed.
Result<nvml::Table> load_nvml();

// Whether the kernel's part of NVIDIA's driver seems to be there.
[[nodiscard]] bool nvidia_driver_seems_loaded();

// NVML has calls that take milliseconds, and some that never return once a GPU has fallen off the
// bus: all of them are made by a thread of this class, which is left behind if it hangs.
//
// Threading  one thread calls it.
// Cost       take_measured() a lock; the thread some milliseconds of each round for each GPU.
class NvmlSampler {
 public:
  explicit NvmlSampler(const RunClock& clock) : clock_(clock) {}
  ~NvmlSampler();
  NvmlSampler(const NvmlSampler&) = delete;
  NvmlSampler& operator=(const NvmlSampler&) = delete;

  // Gives what was measured since the last call, and asks for the next round. `fresh`: it goes to
  // another trace than before, which gets the GPUs' identities again. Kinds live as long as this.
  // The first call loads NVML: by then the ranks are started, and inherit nothing of it. Nothing,
  // without a word, where there seems to be no GPU and no library was named.
  std::vector<Measured> take_measured(bool fresh);

 private:
  struct Shared;
  static void run_guarded(const std::shared_ptr<Shared>& shared);
  static void run(const std::shared_ptr<Shared>& shared);
  void start();

  const RunClock& clock_;
  bool started_ = false;
  std::shared_ptr<Shared> shared_;  // null: nothing to do
  std::thread thread_;
  int unanswered_rounds_ = 0;
  bool silence_told_ = false;
};

}  // namespace dprof::recorder
