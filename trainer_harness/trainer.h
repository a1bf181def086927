// SPDX-License-Identifier: Apache-2.0
// One rank from start to end: it joins the others, trains, compares the result, and leaves.
#pragma once

#include <vector>

#include "trainer_harness/settings/catalogue.h"
#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

// The models that --model accepts.
[[nodiscard]] std::vector<ModelLine> trainable_models();

// Throws std::exception if it cannot train, or if the ranks end with different parameters.
void run_trainer(const Options& options);

}  // namespace dprof::trainer_harness
