// SPDX-License-Identifier: Apache-2.0
// A classifier of linear layers of given widths with ReLU between them: `--model mlp:64,256,10`
// takes 64 numbers and distinguishes 10 classes.
#pragma once

#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/linear.h>

#include "trainer_harness/models/model.h"

namespace dprof::trainer_harness {

class Mlp final : public Model {
 public:
  // Precondition: at least two widths.
  explicit Mlp(const std::vector<int64_t>& widths) {
    for (size_t i = 0; i + 1 < widths.size(); ++i) {
      torch::nn::Linear linear(widths[i], widths[i + 1]);
      const std::string name = "fc" + std::to_string(i + 1);
      register_module(name, linear);
      const bool last = i + 2 == widths.size();
      add_block({name, linear.ptr(), [linear, last](const torch::Tensor& x) mutable {
                   const torch::Tensor y = linear->forward(x);
                   return last ? y : torch::relu(y);
                 }});
    }
  }

  [[nodiscard]] torch::Tensor loss(const torch::Tensor& output,
                                   const torch::Tensor& target) const override {
    return torch::nn::functional::cross_entropy(output, target);
  }
};

}  // namespace dprof::trainer_harness
