// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/nccl/nccl_source.h"

namespace dprof::inject {
namespace {

void apply(uint32_t, wire::DetailLevel) noexcept {}
uint64_t serve(uint64_t) noexcept { return kNoHurry; }

}  // namespace

constinit const SourceHooks kNcclHooks = {&apply, &serve, nullptr};

}  // namespace dprof::inject
