// SPDX-License-Identifier: Apache-2.0
// What a training loop does beside training: barriers, metrics, reading and logging the loss,
// memory figures, emptying the cache, watching the throughput.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "trainer_harness/strategies/strategy.h"

namespace dprof::trainer_harness {

// Used by the training thread, at the same points on all ranks.
class SideWork {
 public:
  SideWork(Context& context, RankTruth& truth) : context_(context), truth_(truth) {}

  void begin_epoch();

  // At the end of each update, within the step's mark. `loss` is undefined on ranks that do not
  // know it; `batch` is the latest.
  void end_update(Strategy& strategy, const torch::Tensor& loss, const Batch& batch,
                  bool last_of_run);

 private:
  void note_loss(const torch::Tensor& loss, bool last_of_run);

  Context& context_;
  RankTruth& truth_;
};

}  // namespace dprof::trainer_harness
