// SPDX-License-Identifier: Apache-2.0
// What a training loop does beside training: barriers, metrics, reading and logging the loss,
// memory figures, emptying the cache, watching the throughput. Nothing of it takes a collective
// unless it was asked for.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "trainer_harness/strategies/strategy.h"

namespace dprof::trainer_harness {

// Used by the training thread, at the same points on all ranks.
class SideWork {
 public:
  // Throws UsageError for what the strategy cannot do.
  SideWork(Context& context, RankTruth& truth);

  void begin_epoch();

  // At the end of each update, within the step's mark. `loss` is undefined on ranks that do not
  // know it; `batch` is the latest.
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
  int64_t watched_since_ns_ = 0;  // of the throughput
  int64_t watched_samples_ = 0;
};

}  // namespace dprof::trainer_harness
