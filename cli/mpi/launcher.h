// SPDX-License-Identifier: Apache-2.0
// This process's number, and the number of processes, if an MPI launcher started it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

namespace dprof::cli {

struct Launched {
  size_t number = 0;
  size_t of = 1;
};

// From the variables of Open MPI, of PMI (MPICH, Intel MPI, Slurm's pmi2) and of PMIx (which, under
// Slurm, does not give the size: SLURM_STEP_NUM_TASKS does). A batch script has none of them: it
// counts as one process.
[[nodiscard]] std::optional<Launched> find_launched(
    const std::function<const char*(const char*)>& variable);

}  // namespace dprof::cli
