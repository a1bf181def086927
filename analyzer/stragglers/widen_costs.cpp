// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/widen_costs.h"

#include <cmath>

namespace dprof::analyzer {

void widen_costs(const Replay& replay, int64_t median_step_ns, std::vector<Verdict>& verdicts) {
  const int64_t error = std::llround(replay.identity_error * static_cast<double>(median_step_ns));
  for (Verdict& verdict : verdicts) {
    verdict.straggler.bound_ns += error;
    if (!replay.accepted) verdict.straggler.confidence /= 2;
  }
}

}  // namespace dprof::analyzer
