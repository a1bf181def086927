// SPDX-License-Identifier: Apache-2.0
// The training loop's work beside training: barriers, metrics, reading and logging the loss, memory
// figures, emptying the cache, and monitoring the throughput. It uses no collective unless an
// option asks for one.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "trainer_harness/strategies/strategy.h"

namespace dprof::trainer_harness {

// Used by the training thread, at the same points on all ranks.
class SideWork {
 public:
  // Throws UsageError for options that the strategy does not support.
  SideWork(Context& context, RankTruth& truth);

  void begin_epoch();

  // Called at the end of each update, within the step's mark. `loss` is undefined on ranks that do
  // not know it; `batch` is the update's last.
  void end_update(Strategy& strategy, const torch::Tensor& loss, const Batch& batch,
                  bool last_of_run);

 private:
  [[nodiscard]] bool due(int64_t every) const;
  void wait_for_all();
  void note_loss(Strategy& strategy, const torch::Tensor& loss, bool last_of_run);
  void log_memory() const;
  void log_throughput();

  Context& context_;
  RankTruth& truth_;
  bool has_first_loss_ = false;
  int64_t watched_since_ns_ = 0;  // start of the throughput's window
  int64_t watched_samples_ = 0;
};

}  // namespace dprof::trainer_harness
