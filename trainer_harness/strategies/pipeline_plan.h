// SPDX-License-Identifier: Apache-2.0
// The plan of a pipeline: how a model is cut into stages, and the order of each stage's work. Plain
// arithmetic, without torch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

// Blocks [begin, end) of a model.
struct StageBlocks {
  size_t begin = 0;
  size_t end = 0;
};

// Cuts a chain of blocks into `stages` non-empty parts, so that the most expensive part costs as
// little as possible. There must be at least as many blocks as stages. Cost: O(stages * blocks^2).
[[nodiscard]] std::vector<StageBlocks> cut_into_stages(const std::vector<double>& block_costs,
                                                       size_t stages);

// Sizes of the micro-batches of a batch of `samples`: `wanted` micro-batches, or one per sample if
// there are fewer samples. Sizes differ by at most one.
[[nodiscard]] std::vector<int64_t> micro_batch_sizes(int64_t samples, int64_t wanted);

struct StageTask {
  bool forward = true;
  int64_t micro_batch = 0;

  bool operator==(const StageTask&) const = default;
};

// The work of stage `stage` in an update. GPipe: all forwards, then all backwards. 1F1B: one
// forward per later stage, then forward and backward by turns, so that it keeps few activations.
[[nodiscard]] std::vector<StageTask> stage_tasks(Schedule schedule, int stage, int stages,
                                                 int64_t micro_batches);

}  // namespace dprof::trainer_harness
