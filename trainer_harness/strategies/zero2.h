// SPDX-License-Identifier: Apache-2.0
// ZeRO stage 2: gradients and the optimizer's state are divided among the ranks, parameters are
// not.
#pragma once

#include <vector>

#include "trainer_harness/strategies/replica.h"
#include "trainer_harness/strategies/sharded_parameters.h"

namespace dprof::trainer_harness {

// After backward one reduce-scatter gives each rank the mean of its piece of the gradient; it steps
// that piece, and one all-gather makes the parameters whole again. With Adam each of N ranks keeps
// 4 + 12/N bytes per fp32 parameter. With --accumulate, gradients stay whole until the last
// micro-step; with --no-sync off each micro-step reduces them and accumulates the pieces.
class Zero2 final : public Replica {
 public:
  explicit Zero2(Context& context);

  [[nodiscard]] std::pair<int, int> data_share() const override;
  [[nodiscard]] std::vector<torch::Tensor> updated_parameters() override;
  [[nodiscard]] torch::Tensor over_all_parameters(torch::Tensor value, bool largest) override;
  void finish_update() override;
  void scatter_parameters() override { parameters_.take_over(); }

 protected:
  void before_forward(const MicroStep& which) override;
  void after_backward(const MicroStep& which) override;

 private:
  Job& job_;
  std::vector<torch::Tensor> buffers_;
  ShardedParameters parameters_;
};

}  // namespace dprof::trainer_harness
