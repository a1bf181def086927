// SPDX-License-Identifier: Apache-2.0
// CUDA's activity through CUPTI: what the helper does for it.
#pragma once

#include "collector/inject/source.h"

namespace dprof::inject {

extern const SourceHooks kCudaHooks;

}  // namespace dprof::inject
