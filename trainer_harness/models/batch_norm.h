// SPDX-License-Identifier: Apache-2.0
// Batch normalisation with PyTorch's parameter and buffer names (weight, bias, running_mean,
// running_var, num_batches_tracked). Its computation can be replaced: SyncBatchNorm is this layer
// with the statistics of all ranks.
#pragma once

#include <ATen/ops/batch_norm.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <functional>
#include <memory>
#include <utility>

namespace dprof::trainer_harness {

// For inputs of [sample, channel, ...].
class BatchNorm final : public torch::nn::Module {
 public:
  // Normalises `input` in training, and updates the running statistics.
  using Sync = std::function<torch::Tensor(const torch::Tensor& input, BatchNorm& layer)>;

  static constexpr double kEpsilon = 1e-5;
  static constexpr double kMomentum = 0.1;  // weight of a new batch in the running statistics

  explicit BatchNorm(int64_t channels)
      : weight(register_parameter("weight", torch::ones({channels}))),
        bias(register_parameter("bias", torch::zeros({channels}))),
        running_mean(register_buffer("running_mean", torch::zeros({channels}))),
        running_var(register_buffer("running_var", torch::ones({channels}))),
        num_batches_tracked(
            register_buffer("num_batches_tracked", torch::zeros({}, torch::kInt64))) {}

  torch::Tensor forward(const torch::Tensor& input) {
    if (is_training()) num_batches_tracked += 1;
    if (is_training() && sync_) return sync_(input, *this);
    return at::batch_norm(input, weight, bias, running_mean, running_var, is_training(), kMomentum,
                          kEpsilon, /*cudnn_enabled=*/true);
  }

  // From now on, `sync` normalises in training. It need not update num_batches_tracked.
  void set_sync(Sync sync) { sync_ = std::move(sync); }

  torch::Tensor weight;
  torch::Tensor bias;
  torch::Tensor running_mean;
  torch::Tensor running_var;
  torch::Tensor num_batches_tracked;

 private:
  Sync sync_;
};

}  // namespace dprof::trainer_harness
