// SPDX-License-Identifier: Apache-2.0
// The training loop: epochs of updates, each of micro-steps and an optimizer step, whatever the
// strategy.
#pragma once

#include <memory>
#include <optional>

#include "trainer_harness/data/loader.h"
#include "trainer_harness/strategies/strategy.h"
#include "trainer_harness/techniques/side_work.h"

namespace dprof::trainer_harness {

// Trains one rank. Used by one thread. Throws what torch throws, and UsageError.
class TrainLoop {
 public:
  // `truth` takes the account of what this rank does.
  TrainLoop(Context& context, RankTruth& truth);

  void run();

  [[nodiscard]] Strategy& strategy() { return *strategy_; }
  [[nodiscard]] int64_t batch_size() const { return batch_size_; }

 private:
  void run_epoch();
  // False at the end of the epoch's data.
  bool run_update(int64_t micro_steps);
  [[nodiscard]] std::optional<Batch> next_batch();
  void optimizer_step();
  void clip_gradients(const std::vector<torch::Tensor>& parameters);
  [[nodiscard]] bool finished() const;

  Context& context_;
  const Options& options_;
  RankTruth& truth_;
  int64_t batch_size_;
  int64_t epochs_;
  int64_t batches_left_ = 0;  // of the epoch
  std::unique_ptr<Strategy> strategy_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;  // null where another rank has it
  std::unique_ptr<BatchStream> batches_;                // null where the rank needs none
  SideWork side_work_;
};

}  // namespace dprof::trainer_harness
