// SPDX-License-Identifier: Apache-2.0
// The division of a global batch among ranks of unequal speed. Plain arithmetic, without torch: all
// ranks compute the same result from the same figures.
#pragma once

#include <cstdint>
#include <vector>

namespace dprof::trainer_harness {

// Divides `total` samples in proportion to `weights` (above 0): each rank gets at least one, and
// the sum is exactly `total`. Throws UsageError if there are fewer samples than ranks.
[[nodiscard]] std::vector<int64_t> divide_samples(int64_t total,
                                                  const std::vector<double>& weights);

// A rank's work since the last division.
struct RankSpeed {
  double samples = 0;
  double seconds = 0;  // of its own work, without waiting for others
};

// The division after `present`, from the measurements: half way to equal times on all ranks. No
// rank's part drops below half or grows beyond twice its present size, so that one disturbed
// measurement does no harm.
[[nodiscard]] std::vector<int64_t> rebalanced(const std::vector<int64_t>& present,
                                              const std::vector<RankSpeed>& measured);

}  // namespace dprof::trainer_harness
