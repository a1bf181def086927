// SPDX-License-Identifier: Apache-2.0
// Shared by all parts of one rank's training.
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

// The training's progress; the loop advances it.
struct Progress {
  int64_t epoch = 0;
  int64_t step = 0;              // optimizer updates done
  int64_t batches_in_epoch = 0;  // done; a resumed run skips as many in its first epoch
};

// The references outlive the training.
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
