// SPDX-License-Identifier: Apache-2.0
// Parameters concatenated in one flat tensor, of which each rank owns an equal piece: the basis of
// ZeRO stages 2 and 3.
#pragma once

#include <torch/types.h>

#include <vector>

#include "trainer_harness/ranks/job.h"

namespace dprof::trainer_harness {

// The parameters become views of the whole tensor, which is zero-padded to divide evenly. The
// optimizer steps shard(), a leaf of the same dtype. Used by the training thread, or by the thread
// that runs its backward.
class ShardedParameters {
 public:
  // `parameters`: at least one, all of one dtype and device, equal on all ranks. If the whole
  // stays, the shard is a part of it and costs nothing; otherwise the shard has its own memory.
  ShardedParameters(std::vector<torch::Tensor> parameters, Job& job, bool whole_stays);

  [[nodiscard]] const torch::Tensor& shard() const { return shard_; }

  // Fills the whole from every rank's shard: one all-gather. Waits for it.
  void gather();
  // Returns the whole's memory to the allocator. The parameters, and views of them saved by
  // autograd, must not be read until gather() restores their values.
  void release();
  [[nodiscard]] bool is_whole() const { return whole_.storage().nbytes() != 0; }

  // Averages the gradients and adds them to shard().grad(): one reduce-scatter. The start frees the
  // parameters' own gradients; a missing one counts as zero. Each start needs a finish.
  void start_reduction();
  void finish_reduction();

  // Updates the shard after other code has set the parameters (is_whole()).
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

// The sum or the maximum over all ranks of a one-element tensor.
[[nodiscard]] torch::Tensor over_ranks(Job& job, torch::Tensor value, bool largest);

}  // namespace dprof::trainer_harness
