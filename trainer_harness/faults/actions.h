// SPDX-License-Identifier: Apache-2.0
// The part of the faults that needs torch. The rest of the faults uses this interface only.
#pragma once

#include <chrono>
#include <cstdint>

namespace dprof::trainer_harness {

// Threading: spin() may be called from several threads at once, the rest from the training thread.
class FaultActions {
 public:
  virtual ~FaultActions() = default;

  // Multiplies matrices on the training device for `time`; overruns by less than 0.3 ms.
  virtual void spin(std::chrono::nanoseconds time) = 0;

  // True if the device works asynchronously to this thread, so that the thread can wait for it.
  [[nodiscard]] virtual bool has_device() const = 0;

  // Allocates tensors of `bytes` that live until the process ends.
  virtual void leak(int64_t bytes) = 0;
  // Allocates and frees a tensor of `bytes`; a host's memory goes back to the system.
  virtual void churn(int64_t bytes) = 0;
  // Returns free memory to the system.
  virtual void empty_cache() = 0;

  // An all-reduce; if `wrong`, this rank's tensor differs in size from the others'. Throws if the
  // mismatch is detected.
  virtual void reduce_sizes(bool wrong) = 0;
  // All-reduces of two groups; if `wrong`, this rank calls them in the opposite order. Throws after
  // the job's timeout.
  virtual void reduce_groups(bool wrong) = 0;
};

}  // namespace dprof::trainer_harness
