// SPDX-License-Identifier: Apache-2.0
// What a rank does before it trains: it takes its place on its host, finds its device, and meets
// the others. Also the mistakes that people make there.
#pragma once

#include <torch/types.h>

#include <optional>

#include "trainer_harness/ranks/job.h"
#include "trainer_harness/ranks/rendezvous.h"
#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

// --nice, --affinity, --threads and --threads-of-rank; before this process computes anything.
// Throws UsageError.
void take_place(const Options& options, const std::optional<Rendezvous>& rendezvous);

// By --device-of-rank and --backend. Opens CUDA's libraries only for a GPU. Throws.
[[nodiscard]] torch::Device find_device(const Options& options,
                                        const std::optional<Rendezvous>& rendezvous);

// Waits for the others, and makes `device` fit for the backend. Throws.
[[nodiscard]] Job meet_others(const Options& options, Rendezvous rendezvous, torch::Device device);

}  // namespace dprof::trainer_harness
