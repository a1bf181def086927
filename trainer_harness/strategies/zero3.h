// SPDX-License-Identifier: Apache-2.0
// ZeRO stage 3: parameters, gradients and the optimizer's state are divided among the ranks. The
// counterpart of Python's FullyShardedDataParallel, with a unit per block of the model.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "trainer_harness/strategies/replica.h"
#include "trainer_harness/strategies/sharded_parameters.h"

namespace torch::autograd {
struct Node;
}

namespace dprof::trainer_harness {

// A block's parameters are gathered for its forward and again for its backward, and released after
// each; as soon as its last gradient is ready, the gradients are reduce-scattered. With Adam each
// of N ranks keeps 16/N bytes per fp32 parameter, and one whole block at a time. With --accumulate
// this happens in every micro-step: keeping gradients whole would take the memory that is saved, so
// --no-sync changes nothing.
//
// In a model with tied weights the last block reads the first block's parameters, which are
// gathered for both.
class Zero3 final : public Replica {
 public:
  explicit Zero3(Context& context);

  [[nodiscard]] std::pair<int, int> data_share() const override;
  [[nodiscard]] std::vector<torch::Tensor> updated_parameters() override;
  [[nodiscard]] torch::Tensor over_all_parameters(torch::Tensor value, bool largest) override;
  void begin_update() override;
  void finish_update() override;
  void gather_parameters() override;
  void scatter_parameters() override;

 protected:
  void before_forward(const MicroStep& which) override;
  void after_backward(const MicroStep& which) override;

 private:
  struct Unit {
    Unit(const std::vector<torch::Tensor>& parameters, Job& job)
        : sharded(parameters, job, /*whole_stays=*/false), gradients(parameters.size()) {}

    ShardedParameters sharded;
    size_t gradients;    // per backward
    size_t arrived = 0;  // in this backward
    bool reduces = false;
  };

  void make_units();
  void watch_gradients(Unit& unit, const std::vector<torch::Tensor>& parameters);
  void reduce(Unit& unit);
  void release_all();
  [[nodiscard]] torch::Tensor run_block(const Model::BlockRunner& inner, const Block& block,
                                        const torch::Tensor& input);

  Job& job_;
  std::vector<torch::Tensor> buffers_;
  std::deque<Unit> units_;  // in block order; a deque, as addresses must not change
  std::unordered_map<const Block*, std::vector<Unit*>> units_of_;
  // Kept here because autograd holds only weak references to them.
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;
};

}  // namespace dprof::trainer_harness
