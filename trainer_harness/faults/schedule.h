// SPDX-License-Identifier: Apache-2.0
// In which steps and on which rank a fault acts. This depends only on the fault, seed, rank and
// step, so that each run of the same command has the same faults.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trainer_harness/faults/fault.h"

namespace dprof::trainer_harness {

// The rank and job in which a fault player runs.
struct FaultScene {
  int rank = 0;
  int world_size = 1;
  uint64_t seed = 0;
  int64_t timeout_s = 60;
  bool restarted = false;  // by an elastic launcher, after a rank was lost
};

// True if `fault`, the `index`th of the command line, acts on the scene's rank in `step`.
[[nodiscard]] bool strikes(const Fault& fault, size_t index, const FaultScene& scene, int64_t step);

// A pseudo-random number in [0, 1), determined by the arguments.
[[nodiscard]] double chance(const FaultScene& scene, size_t index, int64_t step);

}  // namespace dprof::trainer_harness
