// SPDX-License-Identifier: Apache-2.0
// `--check-env`: describes the environment of this process.
#pragma once

#include <string>

namespace dprof::trainer_harness {

// Torch's version and build, backends and GPUs, this process's place in a job, cores and clocks;
// one line each. Opens CUDA's libraries if present.
[[nodiscard]] std::string environment_text();

}  // namespace dprof::trainer_harness
