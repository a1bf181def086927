// SPDX-License-Identifier: Apache-2.0
// The tables that NCCL looks up by name, newest first, in the file of NCCL_PROFILER_PLUGIN.
//
// Threading  any thread of NCCL's, several at once.
#pragma once

#include "collector/inject/export.h"
#include "collector/inject/nccl/nccl_abi.h"

// NOLINTBEGIN(readability-identifier-naming): the names by which NCCL looks for them
extern "C" {
__attribute__((visibility("default"))) extern const dprof::inject::nccl::ProfilerV3 ncclProfiler_v3;
__attribute__((visibility("default"))) extern const dprof::inject::nccl::ProfilerV4 ncclProfiler_v4;
__attribute__((visibility("default"))) extern const dprof::inject::nccl::ProfilerV5 ncclProfiler_v5;
__attribute__((visibility("default"))) extern const dprof::inject::nccl::ProfilerV6 ncclProfiler_v6;
}
// NOLINTEND(readability-identifier-naming)
