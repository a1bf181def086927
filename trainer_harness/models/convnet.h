// SPDX-License-Identifier: Apache-2.0
// A small convolution net for 28x28 images: 27,100 parameters in 8 tensors, 108,400 B of gradients
// in one bucket.
#pragma once

#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "trainer_harness/models/model.h"

namespace dprof::trainer_harness {

class Convnet final : public Model {
 public:
  // Without `pools`, the first linear layer gets 8000 values instead of 320 (mistake M24), so that
  // the first forward fails.
  explicit Convnet(bool pools = true) : pools_(pools) {
    register_module("conv1", conv1_);
    register_module("conv2", conv2_);
    register_module("fc1", fc1_);
    register_module("fc2", fc2_);
    add_block({"conv1", conv1_.ptr(),
               [this](const torch::Tensor& x) { return torch::relu(pool(conv1_->forward(x))); }});
    add_block({"conv2", conv2_.ptr(), [this](const torch::Tensor& x) {
                 return torch::relu(pool(conv2_->forward(x))).flatten(1);
               }});
    add_block({"fc1", fc1_.ptr(),
               [this](const torch::Tensor& x) { return torch::relu(fc1_->forward(x)); }});
    add_block({"fc2", fc2_.ptr(), [this](const torch::Tensor& x) { return fc2_->forward(x); }});
  }

  [[nodiscard]] torch::Tensor loss(const torch::Tensor& output,
                                   const torch::Tensor& target) const override {
    return torch::nn::functional::cross_entropy(output, target);
  }

 private:
  [[nodiscard]] torch::Tensor pool(const torch::Tensor& x) const {
    return pools_ ? torch::max_pool2d(x, 2) : x;
  }

  bool pools_;
  torch::nn::Conv2d conv1_{torch::nn::Conv2dOptions(1, 20, 5)};
  torch::nn::Conv2d conv2_{torch::nn::Conv2dOptions(20, 20, 5)};
  torch::nn::Linear fc1_{320, 50};
  torch::nn::Linear fc2_{50, 10};
};

}  // namespace dprof::trainer_harness
