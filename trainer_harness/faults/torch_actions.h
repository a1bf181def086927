// SPDX-License-Identifier: Apache-2.0
// FaultActions implemented with torch.
#pragma once

#include <torch/types.h>

#include <memory>

#include "trainer_harness/faults/actions.h"
#include "trainer_harness/ranks/job.h"

namespace dprof::trainer_harness {

// `job` is null for a single process.
[[nodiscard]] std::unique_ptr<FaultActions> make_torch_actions(torch::Device device, Job* job);

}  // namespace dprof::trainer_harness
