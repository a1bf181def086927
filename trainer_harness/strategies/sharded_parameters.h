// SPDX-License-Identifier: Apache-2.0
// Parameters that lie one after the other in one flat tensor, of which each rank owns an equal
// piece: what ZeRO stages 2 and 3 are made of.
#pragma once

#include <torch/types.h>

#include <vector>

#include "trainer_harness/ranks/job.h"

namespace dprof::trainer_harness {

// The parameters become views of the whole, which is padded with zeros so that it divides evenly.
// The optimizer steps shard(), a leaf of the same dtype. Used by the training thread, or by the
// thread that runs its backward.
class ShardedParameters {
 public:
  // All of one dtype and device, equal on all ranks; at least one. Where the whole stays, the shard
  // is a part of it and costs nothing; where it is released, the shard has memory of its own.
  ShardedParameters(std::vector<torch::Tensor> parameters, Job& job, bool whole_stays);

  [[nodiscard]] const torch::Tensor& shard() const { return shard_; }

  // Fills the whole from every rank's shard: one all-gather. Waits for it.
  void gather();
  // Gives the whole's memory back to the allocator. The parameters, and views of them that autograd
  // saved, must not be read until gather(), after which they have their values again.
  void release();
  [[nodiscard]] bool is_whole() const { return whole_.storage().nbytes() != 0; }

  // Averages the gradients into shard().grad(), adding: one reduce-scatter. The parameters' own
  // gradients are gone at once; a missing one counts as zero. Each start needs a finish.
  void start_reduction();
  void finish_reduction();

  // After something else has set the parameters (is_whole()).
  void take_over();

 private:
  void lay_out();

  Job& job_;
  std::vector<torch::Tensor> parameters_;
  bool whole_stays_;
  int64_t piece_ = 0;  // elements of a shard
  torch::Tensor whole_;
  torch::Tensor shard_;

  torch::Tensor sums_;  // while a reduction runs
  torch::Tensor mean_;
  c10::intrusive_ptr<c10d::Work> reduction_;
};

// The sum, or the largest, of every rank's one-element figure.
[[nodiscard]] torch::Tensor over_ranks(Job& job, torch::Tensor value, bool largest);

}  // namespace dprof::trainer_harness
