// SPDX-License-Identifier: Apache-2.0
// NCCL's profiler plugin: the helper's hooks.
#pragma once

#include "collector/inject/source.h"

namespace dprof::inject {

extern const SourceHooks kNcclHooks;

}  // namespace dprof::inject
