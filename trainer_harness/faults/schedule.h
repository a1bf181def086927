// SPDX-License-Identifier: Apache-2.0
// In which steps, and on which rank, a fault acts: a function of the fault, the seed, rank and step
// alone, so that any run of the same command has the same faults.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trainer_harness/faults/fault.h"

namespace dprof::trainer_harness {

// Where a fault player stands.
struct FaultScene {
  int rank = 0;
  int world_size = 1;
  uint64_t seed = 0;
  int64_t timeout_s = 60;
  bool restarted = false;  // by an elastic launcher, after a rank was lost
};

// Whether `fault`, the `index`th of the command line, acts on the scene's rank in `step`.
[[nodiscard]] bool strikes(const Fault& fault, size_t index, const FaultScene& scene, int64_t step);

// A number in [0, 1) that belongs to these.
[[nodiscard]] double chance(const FaultScene& scene, size_t index, int64_t step);

}  // namespace dprof::trainer_harness
