// SPDX-License-Identifier: Apache-2.0
// Distributed data parallelism on c10d's own Reducer: what
// torch.nn.parallel.DistributedDataParallel is in Python.
#pragma once

#include <optional>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <vector>

#include "trainer_harness/strategies/replica.h"

namespace dprof::trainer_harness {

// Construction makes the parameters and buffers equal to rank 0's. Within backward, each bucket of
// gradients is averaged as soon as it is complete. A micro-step without the Reducer's two
// `prepare_` calls only accumulates: that is no_sync.
class Ddp final : public Replica {
 public:
  explicit Ddp(Context& context);

  [[nodiscard]] std::pair<int, int> data_share() const override;

 protected:
  void before_forward(const MicroStep& which) override;
  void before_backward(const torch::Tensor& output, const MicroStep& which) override;

 private:
  [[nodiscard]] bool syncs(const MicroStep& which) const;

  Job& job_;
  const Options& options_;
  std::vector<torch::Tensor> buffers_;
  std::optional<c10d::Reducer> reducer_;
};

}  // namespace dprof::trainer_harness
