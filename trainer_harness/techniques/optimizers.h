// SPDX-License-Identifier: Apache-2.0
// The optimizers that --optimizer takes: SGD with momentum, Adam, and a custom one as people write
// them, p -= lr * grad.
#pragma once

#include <torch/optim/optimizer.h>

#include <memory>
#include <vector>

#include "trainer_harness/models/model.h"
#include "trainer_harness/settings/options.h"

namespace dprof::trainer_harness {

// Over `parameters`, with the model's own settings where the command line gives none.
[[nodiscard]] std::unique_ptr<torch::optim::Optimizer> make_optimizer(
    const TrainingOptions& options, const ModelSpec& spec, std::vector<torch::Tensor> parameters);

}  // namespace dprof::trainer_harness
