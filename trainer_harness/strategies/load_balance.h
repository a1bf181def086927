// SPDX-License-Identifier: Apache-2.0
// Load balancing: ranks of unequal speed take unequal parts of each global batch, given by --shares
// and, with --rebalance, adjusted to the measured throughput.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "trainer_harness/strategies/ddp.h"
#include "trainer_harness/strategies/load_balance_plan.h"

namespace dprof::trainer_harness {

// All ranks draw the same global batches and each makes its own slice, so that the samples of an
// update do not depend on the shares; a rank's loss is weighted by its number of samples.
//
// Rebalancing uses a rank's own time: from the start of the update, or the end of the previous
// micro-step, until the gradient of its first parameter, the last one to arrive, is ready, without
// the broadcast of buffers. The wait for other ranks comes after that.
class LoadBalancedDdp final : public Ddp {
 public:
  explicit LoadBalancedDdp(Context& context);

  [[nodiscard]] std::pair<int, int> data_share() const override { return {1, 0}; }
  [[nodiscard]] std::optional<BatchSlice> batch_slice(int64_t batch_per_rank) const override;
  void begin_update() override;
  torch::Tensor micro_step(const Batch& batch, const MicroStep& which) override;
  void finish_update() override;

 protected:
  void before_forward(const MicroStep& which) override;

 private:
  void rebalance();

  int rank_;
  std::vector<double> shares_;  // of all ranks, as requested
  int64_t rebalance_every_;
  // The current division; set by the first call of batch_slice().
  mutable std::vector<int64_t> parts_;
  RankSpeed measured_;  // since the last division
  int64_t own_begin_ns_ = 0;
  int64_t own_end_ns_ = 0;  // when the first parameter's gradient was last ready; 0: never
  int64_t own_waited_ns_ = 0;
};

// True if the options request load balancing.
[[nodiscard]] bool balances_load(const Options& options);

}  // namespace dprof::trainer_harness
