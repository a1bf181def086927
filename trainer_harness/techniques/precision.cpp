// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/techniques/precision.h"

namespace dprof::trainer_harness {

torch::Tensor Precision::unscale(const std::vector<torch::Tensor>&) { return torch::zeros({1}); }
void Precision::update(const torch::Tensor&) {}

}  // namespace dprof::trainer_harness
