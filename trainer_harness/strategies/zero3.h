// SPDX-License-Identifier: Apache-2.0
// ZeRO stage 3: parameters, gradients and the optimizer's state are divided among the ranks. What
// FullyShardedDataParallel is in Python, with a unit per block of the model.
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
// each; as soon as the last of its gradients is there, they are reduce-scattered. Per fp32
// parameter N ranks keep 16/N bytes with Adam, and one block whole at a time. With --accumulate
// this happens in every micro-step: gradients that stayed whole would need the memory that is
// saved, so --no-sync changes nothing.
//
// In a model with tied weights the last block reads the first one's parameters, which are gathered
// for both.
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
    size_t gradients;    // that a backward gives
    size_t arrived = 0;  // of them, in this one
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
  std::deque<Unit> units_;  // in the order of the blocks; addresses stay
  std::unordered_map<const Block*, std::vector<Unit*>> units_of_;
  // Autograd keeps them only as long as somebody does.
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;
};

}  // namespace dprof::trainer_harness
