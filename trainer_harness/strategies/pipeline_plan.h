// SPDX-License-Identifier: Apache-2.0
// Who does what in a pipeline, and when: the cut of a model into stages, and the order of a stage's
// work. Plain arithmetic, without torch.
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

// Cuts a chain of blocks into `stages` parts without an empty one, so that the most expensive part
// costs as little as can be. There must be at least as many blocks as stages. Cost: O(stages *
// blocks^2).
[[nodiscard]] std::vector<StageBlocks> cut_into_stages(const std::vector<double>& block_costs,
                                                       size_t stages);

// Sizes of the micro-batches that `samples` make: `wanted` of them, or one per sample where there
// are fewer; they differ by one at most.
[[nodiscard]] std::vector<int64_t> micro_batch_sizes(int64_t samples, int64_t wanted);

struct StageTask {
  bool forward = true;
  int64_t micro_batch = 0;

  bool operator==(const StageTask&) const = default;
};

// What stage `stage` does in an update. GPipe: all forwards, then all backwards. 1F1B: as many
// forwards as there are stages behind it, then by turns, so that it keeps few activations.
[[nodiscard]] std::vector<StageTask> stage_tasks(Schedule schedule, int stage, int stages,
                                                 int64_t micro_batches);

}  // namespace dprof::trainer_harness
