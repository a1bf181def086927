// SPDX-License-Identifier: Apache-2.0
// What faults do by way of torch. The rest of the faults knows this interface only.
#pragma once

#include <chrono>
#include <cstdint>

namespace dprof::trainer_harness {

// Threading: spin() may be called from several threads at once, the rest from the training thread.
class FaultActions {
 public:
  virtual ~FaultActions() = default;

  // Multiplies matrices until the time is over, on the device that trains. It ends less than 0.3 ms
  // late.
  virtual void spin(std::chrono::nanoseconds time) = 0;

  // Whether the device works beside this thread, so that one can wait for it.
  [[nodiscard]] virtual bool has_device() const = 0;

  // Makes tensors of `bytes` that stay until the end of the process.
  virtual void leak(int64_t bytes) = 0;
  // Makes and drops a tensor of `bytes`.
  virtual void churn(int64_t bytes) = 0;
  // Gives free memory back to the system.
  virtual void empty_cache() = 0;

  // An all-reduce to which this rank brings a tensor of another size than the others, if it is
  // `wrong`. Throws where anybody notices.
  virtual void reduce_sizes(bool wrong) = 0;
  // All-reduces of two groups, on this rank in the other order, if it is `wrong`. Throws after the
  // job's timeout.
  virtual void reduce_groups(bool wrong) = 0;
};

}  // namespace dprof::trainer_harness
