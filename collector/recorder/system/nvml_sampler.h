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
// kNotFound if it is missing, kUnsupported if it lacks required functions.
Result<nvml::Table> load_nvml();

// True if the kernel part of NVIDIA's driver seems to be loaded.
[[nodiscard]] bool nvidia_driver_seems_loaded();

// Some NVML calls take milliseconds, and some never return once a GPU has fallen off the bus: a
// thread of this class makes them all, and is abandoned if it hangs.
//
// Threading  called by one thread.
// Cost       take_measured() a lock; the thread some milliseconds of each round for each GPU.
class NvmlSampler {
 public:
  explicit NvmlSampler(const RunClock& clock) : clock_(clock) {}
  ~NvmlSampler();
  NvmlSampler(const NvmlSampler&) = delete;
  NvmlSampler& operator=(const NvmlSampler&) = delete;

  // Returns the measurements since the last call, and requests the next round. `fresh`: they go to
  // another trace than before, which gets the GPUs' identities again. Kinds live as long as this
  // object. The first call loads NVML: by then the ranks are started, and do not inherit it.
  // Silently returns nothing if there seems to be no GPU and no library was named.
  std::vector<Measured> take_measured(bool fresh);

 private:
  struct Shared;
  static void run_guarded(const std::shared_ptr<Shared>& shared);
  static void run(const std::shared_ptr<Shared>& shared);
  void start();

  const RunClock& clock_;
  bool started_ = false;
  std::shared_ptr<Shared> shared_;  // null: no GPU to sample
  std::thread thread_;
  int unanswered_rounds_ = 0;
  bool silence_reported_ = false;
};

}  // namespace dprof::recorder
