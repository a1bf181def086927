// SPDX-License-Identifier: Apache-2.0
// The optimizers for --optimizer: SGD with momentum, Adam, and a typical custom one,
// p -= lr * grad.
#pragma once

#include <torch/optim/optimizer.h>

#include <memory>
#include <vector>

#include "trainer_harness/models/model.h"
#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

// An optimizer of `parameters`. The model's settings are used if the command line has none.
[[nodiscard]] std::unique_ptr<torch::optim::Optimizer> make_optimizer(
    const TrainingOptions& options, const ModelSpec& spec, std::vector<torch::Tensor> parameters);

}  // namespace dprof::trainer_harness
