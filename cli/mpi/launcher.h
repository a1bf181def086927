// SPDX-License-Identifier: Apache-2.0
// Whether an MPI launcher started this process, and as which of how many.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

namespace dprof::cli {

struct Launched {
  size_t number = 0;
  size_t of = 1;
};

// By the variables of Open MPI, of PMI (MPICH, Intel MPI, Slurm's pmi2) and of PMIx (which says no
// size where that is Slurm's: SLURM_STEP_NUM_TASKS). A batch script has none of them: it is one
// process.
[[nodiscard]] std::optional<Launched> find_launched(
    const std::function<const char*(const char*)>& variable);

}  // namespace dprof::cli
