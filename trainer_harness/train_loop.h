// SPDX-License-Identifier: Apache-2.0
// The training loop for every strategy: an epoch has updates, an update has micro-steps and an
// optimizer step.
//
// An epoch uses all its data, including a partial last window of --accumulate. A rank that needs no
// data makes as many updates as the others.
#pragma once

#include <memory>
#include <utility>

#include "trainer_harness/activities/side_work.h"
#include "trainer_harness/data/loader.h"
#include "trainer_harness/strategies/strategy.h"

namespace dprof::trainer_harness {

// Trains one rank. Used by one thread. Throws torch's exceptions and UsageError.
class TrainLoop {
 public:
  // Records in `truth` what this rank does.
  TrainLoop(Context& context, RankTruth& truth);

  void run();

  [[nodiscard]] Strategy& strategy() { return *strategy_; }
  [[nodiscard]] int64_t batch_size() const { return batch_size_; }

 private:
  void check_remote_update() const;
  void give_rank_seed();
  void run_epoch();
  void begin_data();
  void run_update(int64_t batches);
  // Returns the last loss and its batch. With no batches, only takes part in the others' update.
  std::pair<torch::Tensor, Batch> micro_steps(int64_t batches);
  [[nodiscard]] Batch next_batch();
  void optimizer_step();
  void clip_gradients(const std::vector<torch::Tensor>& parameters);
  void save_every();
  [[nodiscard]] int64_t batches_left() const;
  [[nodiscard]] bool finished() const;

  Context& context_;
  const Options& options_;
  RankTruth& truth_;
  int64_t epochs_;
  std::unique_ptr<Strategy> strategy_;
  int64_t batch_size_ = 0;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;  // null if another rank has it
  bool takes_data_ = false;
  std::unique_ptr<BatchStream> batches_;  // null if the rank serves the others
  int64_t epoch_batches_ = 0;
  bool state_announced_ = false;
  SideWork side_work_;
};

}  // namespace dprof::trainer_harness
