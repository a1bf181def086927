// SPDX-License-Identifier: Apache-2.0
// ZeRO stage 1: the optimizer's state is divided among the ranks by whole tensors. The counterpart
// of Python's ZeroRedundancyOptimizer.
#pragma once

#include <vector>

#include "trainer_harness/strategies/ddp.h"

namespace dprof::trainer_harness {

// Gradients are averaged as in DDP. Each rank steps the parameters that it owns and sends them to
// the others, a broadcast for each tensor. With Adam each of N ranks keeps 8 + 8/N bytes per fp32
// parameter.
class Zero1 final : public Ddp {
 public:
  explicit Zero1(Context& context);

  [[nodiscard]] std::vector<torch::Tensor> updated_parameters() override;
  [[nodiscard]] torch::Tensor over_all_parameters(torch::Tensor value, bool largest) override;
  void finish_update() override;

 private:
  std::vector<int> owners_;  // of each of parameters()
};

}  // namespace dprof::trainer_harness
