// SPDX-License-Identifier: Apache-2.0
// `--check-env`: what this process finds where it runs.
#pragma once

#include <string>

namespace dprof::trainer_harness {

// Torch's version and build, backends and GPUs, this process's place in a job, cores and clocks; a
// line each. Opens CUDA's libraries where they are there.
[[nodiscard]] std::string environment_text();

}  // namespace dprof::trainer_harness
