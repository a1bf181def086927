// SPDX-License-Identifier: Apache-2.0
// Residual networks for colour images of any size, with 1000 classes: ResNet-18 (11,689,512
// parameters) and ResNet-50 (25,557,032).
#pragma once

#include <memory>

#include "trainer_harness/models/model.h"

namespace dprof::trainer_harness {

[[nodiscard]] std::shared_ptr<Model> make_resnet18(const ModelRequest& request);
[[nodiscard]] std::shared_ptr<Model> make_resnet50(const ModelRequest& request);

}  // namespace dprof::trainer_harness
