// SPDX-License-Identifier: Apache-2.0
// One rank's whole life: meet the others, train, compare, part.
#pragma once

#include <vector>

#include "trainer_harness/settings/catalogue.h"
#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

// What --model takes.
[[nodiscard]] std::vector<ModelLine> trainable_models();

// Throws std::exception when it cannot train, and when the ranks end with different parameters.
void run_trainer(const Options& options);

}  // namespace dprof::trainer_harness
