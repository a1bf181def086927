// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/models/model.h"

#include "trainer_harness/models/convnet.h"
#include "trainer_harness/models/toy.h"
#include "trainer_harness/settings/usage_error.h"

namespace dprof::trainer_harness {
namespace {

template <typename Net>
std::shared_ptr<Model> make(const ModelRequest&) {
  return std::make_shared<Net>();
}

const std::vector<ModelSpec>& catalogue() {
  static const std::vector<ModelSpec> specs = {
      {"convnet", "two convolutions, two linear layers; 27,100 parameters", 64, 10,
       OptimizerKind::kSgd, 0.001, 0.9, false, make<Convnet>,
       [](const ModelRequest& request) {
         return make_digit_source(request.options.data.samples.value_or(60'000),
                                  request.options.training.seed);
       }},
      {"toy", "Linear(3, 1); 4 parameters", 10, 10, OptimizerKind::kSgd, 0.001, 0, false, make<Toy>,
       [](const ModelRequest& request) {
         return make_coin_source(request.options.data.samples.value_or(1000));
       }},
  };
  return specs;
}

}  // namespace

torch::Tensor Model::forward(const torch::Tensor& input) {
  torch::Tensor x = input;
  for (const Block& block : blocks_) x = run_block(block, x);
  return x;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ModelSpec& spec : catalogue()) names.push_back(spec.name);
  return names;
}

ModelSpec find_model(const std::string& name) {
  for (const ModelSpec& spec : catalogue()) {
    if (spec.name == name) return spec;
  }
  throw UsageError("--model " + name +
                   " is not known\nhint: dprof-trainer --list names the models");
}

}  // namespace dprof::trainer_harness
