// SPDX-License-Identifier: Apache-2.0
// What the parts of one rank's training share.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "trainer_harness/common/log.h"
#include "trainer_harness/faults/player.h"
#include "trainer_harness/models/model.h"
#include "trainer_harness/ranks/job.h"
#include "trainer_harness/settings/options.h"
#include "trainer_harness/techniques/precision.h"

namespace dprof::trainer_harness {

// Where the training is. The loop moves it on.
struct Progress {
  int64_t epoch = 0;
  int64_t step = 0;              // optimizer updates done
  int64_t batches_in_epoch = 0;  // done; a resumed run skips so many of its first epoch
};

// References live as long as the training.
struct Context {
  const Options& options;
  const ModelSpec& spec;
  const Log& log;
  torch::Device device;
  Job* job;  // null for a single process
  FaultPlayer& faults;
  Precision& precision;
  Progress progress;

  [[nodiscard]] int rank() const { return job == nullptr ? 0 : job->rank(); }
  [[nodiscard]] int world_size() const { return job == nullptr ? 1 : job->world_size(); }
};

}  // namespace dprof::trainer_harness
