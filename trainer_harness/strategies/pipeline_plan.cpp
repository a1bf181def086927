// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/strategies/pipeline_plan.h"

#include <algorithm>
#include <limits>

namespace dprof::trainer_harness {

std::vector<StageBlocks> cut_into_stages(const std::vector<double>& block_costs, size_t stages) {
  const size_t blocks = block_costs.size();
  std::vector<double> before(blocks + 1, 0);  // cost of all blocks before this one
  for (size_t i = 0; i < blocks; ++i) before[i + 1] = before[i] + block_costs[i];

  // bottleneck[s][b]: cost of the most expensive stage in the best cut of the first b blocks into s
  // stages; last_cut[s][b]: first block of the last stage in that cut.
  constexpr double kImpossible = std::numeric_limits<double>::infinity();
  std::vector bottleneck(stages + 1, std::vector<double>(blocks + 1, kImpossible));
  std::vector last_cut(stages + 1, std::vector<size_t>(blocks + 1, 0));
  bottleneck[0][0] = 0;
  for (size_t s = 1; s <= stages; ++s) {
    for (size_t b = s; b <= blocks; ++b) {
      for (size_t cut = s - 1; cut < b; ++cut) {
        const double cost = std::max(bottleneck[s - 1][cut], before[b] - before[cut]);
        if (cost >= bottleneck[s][b]) continue;
        bottleneck[s][b] = cost;
        last_cut[s][b] = cut;
      }
    }
  }
  std::vector<StageBlocks> parts(stages);
  size_t end = blocks;
  for (size_t s = stages; s > 0; --s) {
    parts[s - 1] = {last_cut[s][end], end};
    end = parts[s - 1].begin;
  }
  return parts;
}

std::vector<int64_t> micro_batch_sizes(int64_t samples, int64_t wanted) {
  const int64_t parts = std::min(samples, wanted);
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < parts; ++i) {
    sizes.push_back(samples / parts + (i < samples % parts ? 1 : 0));
  }
  return sizes;
}

std::vector<StageTask> stage_tasks(Schedule schedule, int stage, int stages,
                                   int64_t micro_batches) {
  const int64_t ahead = schedule == Schedule::kGpipe
                            ? micro_batches
                            : std::min<int64_t>(micro_batches, stages - 1 - stage);
  std::vector<StageTask> tasks;
  for (int64_t i = 0; i < ahead; ++i) tasks.push_back({true, i});
  for (int64_t i = 0; i < micro_batches; ++i) {
    if (ahead + i < micro_batches) tasks.push_back({true, ahead + i});
    tasks.push_back({false, i});
  }
  return tasks;
}

}  // namespace dprof::trainer_harness
