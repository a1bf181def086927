// SPDX-License-Identifier: Apache-2.0
// The job of this recorder, from the variables that launchers set: recorders of one job can share a
// run.
#pragma once

#include <string>

#include "collector/recorder/ranks/rank.h"

namespace dprof::recorder {

struct Job {
  std::string id;    // equal for all recorders of a job, on every host; "" = not part of a job
  std::string seat;  // which part of it, unique within the job; "" = not known
};

// The first one present identifies the job: torchrun's run id with its rendezvous, PMIx's namespace
// (Open MPI, srun --mpi=pmix), Slurm's job and step, MASTER_ADDR with MASTER_PORT and WORLD_SIZE.
// The inner launcher comes first, as in find_rank().
[[nodiscard]] Job find_job(const Variables& variables);

}  // namespace dprof::recorder
