// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/models/model.h"

#include <algorithm>

#include "trainer_harness/models/convnet.h"
#include "trainer_harness/models/toy.h"

namespace dprof::trainer_harness {
namespace {

template <typename Net>
std::shared_ptr<Model> make() {
  return std::make_shared<Net>();
}

constexpr ModelSpec kCatalogue[] = {
    {"convnet", 64, 10, 0.001, 0.9, make<Convnet>,
     [](uint64_t seed) { return make_digit_source(60'000, seed); }},
    {"toy", 10, 10, 0.001, 0, make<Toy>, [](uint64_t) { return make_coin_source(1000); }},
};

}  // namespace

std::span<const ModelSpec> model_catalogue() { return kCatalogue; }

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ModelSpec& spec : kCatalogue) names.emplace_back(spec.name);
  return names;
}

const ModelSpec& find_model(std::string_view name) {
  return *std::ranges::find(kCatalogue, name, &ModelSpec::name);
}

}  // namespace dprof::trainer_harness
