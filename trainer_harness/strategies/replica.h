// SPDX-License-Identifier: Apache-2.0
// A rank with a whole replica of the model: ordinary forward and backward, with hooks for the
// strategies built on it. By itself it is `--strategy single`.
#pragma once

#include "trainer_harness/strategies/strategy.h"

namespace dprof::trainer_harness {

class Replica : public Strategy {
 public:
  explicit Replica(Context& context);

  [[nodiscard]] Model& model() override { return *model_; }
  torch::Tensor micro_step(const Batch& batch, const MicroStep& which) override;
  [[nodiscard]] torch::Tensor predictions() const override { return predictions_; }
  void finish_gradients() override { note_gradients(); }

 protected:
  [[nodiscard]] Context& context() const { return context_; }

  // Within the forward mark, before the model runs.
  virtual void before_forward(const MicroStep& which) { (void)which; }
  // Within the backward mark.
  virtual void before_backward(const torch::Tensor& output, const MicroStep& which) {
    (void)output;
    (void)which;
  }
  // After the backward mark.
  virtual void after_backward(const MicroStep& which) { (void)which; }
  // The caller marks forward and backward.
  [[nodiscard]] virtual torch::Tensor run_model(const torch::Tensor& input);
  // The weight of this rank's mean loss in the mean over all ranks.
  [[nodiscard]] virtual double loss_weight() const { return 1; }

 private:
  Context& context_;
  std::shared_ptr<Model> model_;
  torch::Tensor predictions_;
};

// Builds the model on the device, with equal parameters on all ranks from the seed, and with the
// techniques that change a model (SyncBatchNorm, activation checkpointing).
[[nodiscard]] std::shared_ptr<Model> build_model(Context& context);

// Checks that all ranks have the same number and shapes of parameters (an all-gather and a
// broadcast), and sends rank 0's parameters and buffers to the others (a broadcast per dtype and
// about 250 MiB).
void equalize_replicas(Job& job, const std::vector<torch::Tensor>& parameters,
                       const std::vector<torch::Tensor>& buffers);

// Sends rank 0's buffers in the same way; does nothing without buffers.
void broadcast_buffers(Job& job, const std::vector<torch::Tensor>& buffers);

// The parameters that every rank has, without their names.
[[nodiscard]] std::vector<torch::Tensor> replicated_parameters(const Model& model);

}  // namespace dprof::trainer_harness
