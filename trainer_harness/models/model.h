// SPDX-License-Identifier: Apache-2.0
// What a model is to the training loop, and the catalogue of those there are.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer_harness/data.h"

namespace dprof::trainer_harness {

class Model : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(torch::Tensor input) = 0;
  virtual torch::Tensor loss(const torch::Tensor& output, const torch::Tensor& target) = 0;
};

// A model with the data and the settings that it is trained with unless the command line says
// otherwise.
struct ModelSpec {
  std::string_view name;
  int64_t batch;
  int64_t epochs;
  double learning_rate;
  double momentum;
  std::shared_ptr<Model> (*make)();
  std::shared_ptr<const SampleSource> (*make_source)(uint64_t seed);
};

[[nodiscard]] std::span<const ModelSpec> model_catalogue();
[[nodiscard]] std::vector<std::string> model_names();

// The name must be one of model_names().
[[nodiscard]] const ModelSpec& find_model(std::string_view name);

}  // namespace dprof::trainer_harness
