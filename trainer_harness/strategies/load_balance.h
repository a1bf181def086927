// SPDX-License-Identifier: Apache-2.0
// Load balancing: ranks of unequal speed take unequal parts of each global batch, as --shares says,
// and as measured throughput says with --rebalance.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "trainer_harness/strategies/ddp.h"
#include "trainer_harness/strategies/load_balance_plan.h"

namespace dprof::trainer_harness {

// All ranks draw the same global batches and each makes its slice of them, so that the samples of
// an update do not depend on the shares; a rank's loss counts by its samples.
//
// A rank's own time, by which it is rebalanced, is from the beginning of an update until the
// gradient of its first parameter, the last one, is ready: the wait for other ranks comes after it.
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
  std::vector<double> shares_;  // as they were asked for, of all ranks
  int64_t rebalance_every_;
  // The division, known from the first question for a slice on.
  mutable std::vector<int64_t> parts_;
  RankSpeed measured_;  // since the last division
  int64_t own_begin_ns_ = 0;
  int64_t own_end_ns_ = 0;  // 0: the first parameter's gradient is still to come
  int64_t own_waited_ns_ = 0;
};

// Whether the options ask for it.
[[nodiscard]] bool balances_load(const Options& options);

}  // namespace dprof::trainer_harness
