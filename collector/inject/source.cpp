// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/source.h"

#include <iterator>

#include "collector/inject/cuda/cuda_source.h"
#include "collector/inject/nccl/nccl_source.h"
#include "collector/inject/python_gate.h"
#include "collector/inject/torch_gate.h"

namespace dprof::inject {
namespace {

constexpr const SourceHooks* kSources[] = {&kTorchHooks, &kCudaHooks, &kNcclHooks, &kPythonHooks};

}  // namespace

SourceList all_sources() noexcept { return {kSources, kSources + std::size(kSources)}; }

}  // namespace dprof::inject
