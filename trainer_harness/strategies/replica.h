// SPDX-License-Identifier: Apache-2.0
// A rank with a whole replica of the model: forward and backward as everyone knows them, with hooks
// for what a strategy does around them. By itself it is `--strategy single`.
#pragma once

#include "trainer_harness/strategies/strategy.h"

namespace dprof::trainer_harness {

class Replica : public Strategy {
 public:
  explicit Replica(Context& context);

  [[nodiscard]] Model& model() override { return *model_; }
  torch::Tensor micro_step(const Batch& batch, const MicroStep& which) override;
  [[nodiscard]] torch::Tensor predictions() const override { return predictions_; }

 protected:
  [[nodiscard]] Context& context() { return context_; }
  [[nodiscard]] const std::shared_ptr<Model>& shared_model() const { return model_; }

  // Within the forward mark, before the model runs.
  virtual void before_forward(const MicroStep& which) { (void)which; }
  // Within the backward mark.
  virtual void before_backward(const torch::Tensor& output, const MicroStep& which) {
    (void)output;
    (void)which;
  }
  // What this rank's mean loss counts for in the mean over all ranks; 1 where batches are equal.
  [[nodiscard]] virtual double loss_weight(const Batch& batch) {
    (void)batch;
    return 1;
  }

 private:
  Context& context_;
  std::shared_ptr<Model> model_;
  torch::Tensor predictions_;
};

// The model as all ranks build it: equal parameters by the seed, on the device, with the
// techniques that change a model (SyncBatchNorm, activation checkpointing).
[[nodiscard]] std::shared_ptr<Model> build_model(Context& context);

}  // namespace dprof::trainer_harness
