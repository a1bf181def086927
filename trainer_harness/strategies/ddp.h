// SPDX-License-Identifier: Apache-2.0
// Distributed data parallelism on c10d's own Reducer: the counterpart of Python's
// torch.nn.parallel.DistributedDataParallel.
#pragma once

#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <vector>

#include "trainer_harness/strategies/replica.h"

namespace dprof::trainer_harness {

// Construction makes the parameters and buffers equal to rank 0's. Within backward, each bucket of
// gradients is averaged as soon as it is complete. A micro-step without the Reducer's two
// `prepare_` calls only accumulates: that is no_sync.
//
// Two variants: with --overlap off there is no Reducer, and the same buckets are averaged after
// backward. With --uneven join a rank whose data has ended contributes zero gradients until all
// have ended, and means are over the ranks that still have data.
class Ddp : public Replica {
 public:
  explicit Ddp(Context& context);

  [[nodiscard]] std::pair<int, int> data_share() const override;
  [[nodiscard]] bool goes_on(bool has_data) override;
  void join_update() override;
  void finish_gradients() override;
  void set_loss_weight(double weight) override { weight_ = weight; }

 protected:
  [[nodiscard]] Job& job() { return job_; }
  [[nodiscard]] const std::vector<torch::Tensor>& parameters() const { return parameters_; }

  void before_forward(const MicroStep& which) override;
  void before_backward(const torch::Tensor& output, const MicroStep& which) override;
  void after_backward(const MicroStep& which) override;
  [[nodiscard]] double loss_weight() const override;

 private:
  [[nodiscard]] bool syncs(const MicroStep& which) const;
  void make_reducer();
  void make_late_buckets();
  void average_late();
  void refuse_unused(const std::string& why) const;

  Job& job_;
  const Options& options_;
  std::vector<torch::Tensor> parameters_;  // without those local to one rank
  std::vector<torch::Tensor> buffers_;
  std::optional<c10d::Reducer> reducer_;
  bool delays_reduction_ = false;  // static graph: the first backward only learns the graph
  std::vector<std::vector<torch::Tensor>> late_buckets_;  // without a Reducer
  std::string unused_;  // parameters that got no gradient in the latest update
  double weight_ = 1;
  int64_t ranks_with_data_;
};

// Mistake M6: ranks that share the data but never average gradients, so that each trains its own
// model.
class UnsyncedReplica final : public Replica {
 public:
  explicit UnsyncedReplica(Context& context) : Replica(context), log_(context.log) {}

  [[nodiscard]] std::pair<int, int> data_share() const override;
  [[nodiscard]] bool keeps_replicas_equal() const override { return false; }
  void finish() override;

 private:
  const Log& log_;
};

}  // namespace dprof::trainer_harness
