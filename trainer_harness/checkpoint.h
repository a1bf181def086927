// SPDX-License-Identifier: Apache-2.0
// Saves what training needs to go on: parameters, optimizer, epoch and step.
#pragma once

#include <torch/optim/optimizer.h>

#include <cstdint>
#include <filesystem>

#include "trainer_harness/models/model.h"

namespace dprof::trainer_harness {

// Writes `folder`/checkpoint.pt, making the folder where it is missing. A reader sees the old file
// or the new one, never a part. Called on rank 0 only. Throws.
void save_checkpoint(const std::filesystem::path& folder, const Model& model,
                     const torch::optim::Optimizer& optimizer, int64_t epoch, int64_t step);

}  // namespace dprof::trainer_harness
