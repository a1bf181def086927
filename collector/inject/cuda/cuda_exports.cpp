// SPDX-License-Identifier: Apache-2.0
// The function that the CUDA driver looks up, in cuInit, in the file of CUDA_INJECTION64_PATH.
#include "collector/inject/cuda/cuda_source.h"
#include "collector/inject/export.h"

DPROF_EXPORT int InitializeInjection() noexcept { return dprof::inject::on_cuda_start(); }
