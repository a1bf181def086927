// SPDX-License-Identifier: Apache-2.0
// Linear(3, 1) as a binary classifier: 16 B of gradients, so that a step is all latency.
#pragma once

#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/linear.h>

#include "trainer_harness/models/model.h"

namespace dprof::trainer_harness {

class Toy final : public Model {
 public:
  Toy() { register_module("linear", linear_); }

  torch::Tensor forward(torch::Tensor input) override { return linear_->forward(input); }

  torch::Tensor loss(const torch::Tensor& output, const torch::Tensor& target) override {
    return torch::nn::functional::binary_cross_entropy_with_logits(output, target);
  }

 private:
  torch::nn::Linear linear_{3, 1};
};

}  // namespace dprof::trainer_harness
