// SPDX-License-Identifier: Apache-2.0
// A rank's start-up before training: it sets up its process, selects its device, and joins the
// other ranks. Also the start-up mistakes of --mistake.
#pragma once

#include <torch/types.h>

#include <optional>

#include "trainer_harness/ranks/job.h"
#include "trainer_harness/ranks/rendezvous.h"
#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

// Applies --nice, --affinity, --threads and --threads-of-rank. Call it before this process computes
// anything. Throws UsageError.
void take_place(const Options& options, const std::optional<Rendezvous>& rendezvous);

// Selects by --device-of-rank and --backend. Loads CUDA's libraries only for a GPU. Throws.
[[nodiscard]] torch::Device find_device(const Options& options,
                                        const std::optional<Rendezvous>& rendezvous);

// Waits for the other ranks, and sets up the backend for tensors on `device`. Throws.
[[nodiscard]] Job meet_others(const Options& options, Rendezvous rendezvous, torch::Device device);

}  // namespace dprof::trainer_harness
