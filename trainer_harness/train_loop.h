// SPDX-License-Identifier: Apache-2.0
// The training loop: epochs of steps, each of input, forward, backward, optimizer and, now and
// then, a checkpoint.
#pragma once

#include <torch/data/dataloader.h>
#include <torch/optim/sgd.h>

#include <memory>
#include <optional>

#include "trainer_harness/data.h"
#include "trainer_harness/distributed.h"
#include "trainer_harness/log.h"
#include "trainer_harness/models/model.h"
#include "trainer_harness/options.h"
#include "trainer_harness/truth.h"

namespace dprof::trainer_harness {

// Trains one rank's replica of a model. Used by one thread. Throws what torch throws.
class TrainLoop {
 public:
  // `job` is null for a single process. `truth` takes the account of what this rank does.
  TrainLoop(const Options& options, const ModelSpec& spec, torch::Device device, Job* job,
            const Log& log, RankTruth& truth);

  void run();

  [[nodiscard]] const Model& model() const { return *model_; }
  [[nodiscard]] int64_t batch_size() const { return batch_size_; }

 private:
  using Loader = torch::data::StatelessDataLoader<SourceDataset, ForwardingSampler>;

  void run_epoch(int64_t epoch);
  void run_step(int64_t epoch, torch::data::Iterator<Batch>& batches, bool first_of_epoch);
  [[nodiscard]] torch::Tensor forward(const Batch& batch);
  void backward(torch::Tensor& loss);
  void note_loss(const torch::Tensor& loss);
  void save(int64_t epoch);
  [[nodiscard]] bool finished() const { return options_.steps && step_ >= *options_.steps; }

  const Options& options_;
  const Log& log_;
  RankTruth& truth_;
  FaultInjector faults_;
  torch::Device device_;
  int64_t batch_size_;
  int64_t epochs_;
  int64_t batches_per_epoch_;
  int64_t step_ = 0;
  std::shared_ptr<Model> model_;
  std::optional<DataParallel> replicas_;
  std::unique_ptr<torch::optim::SGD> optimizer_;
  SharedSampler sampler_;
  std::unique_ptr<Loader> loader_;
};

}  // namespace dprof::trainer_harness
