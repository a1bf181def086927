// SPDX-License-Identifier: Apache-2.0
// Linear(3, 1) as a binary classifier: with 16 B of gradients, a step is all latency.
#pragma once

#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/linear.h>

#include "trainer_harness/models/model.h"

namespace dprof::trainer_harness {

class Toy final : public Model {
 public:
  Toy() { add_block("linear", torch::nn::Linear(3, 1)); }

  [[nodiscard]] torch::Tensor loss(const torch::Tensor& output,
                                   const torch::Tensor& target) const override {
    return torch::nn::functional::binary_cross_entropy_with_logits(output, target);
  }
};

}  // namespace dprof::trainer_harness
