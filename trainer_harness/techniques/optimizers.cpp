// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/techniques/optimizers.h"

#include <torch/optim/sgd.h>

namespace dprof::trainer_harness {

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const TrainingOptions& options,
                                                        const ModelSpec& spec,
                                                        std::vector<torch::Tensor> parameters) {
  const double learning_rate = options.learning_rate.value_or(spec.learning_rate);
  return std::make_unique<torch::optim::SGD>(
      std::move(parameters),
      torch::optim::SGDOptions(learning_rate).momentum(options.momentum.value_or(spec.momentum)));
}

}  // namespace dprof::trainer_harness
