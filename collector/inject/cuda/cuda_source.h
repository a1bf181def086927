// SPDX-License-Identifier: Apache-2.0
// CUDA's activity through CUPTI: the helper's hooks, and the interface for other sources.
#pragma once

#include <cstdint>

#include "collector/inject/source.h"

namespace dprof::inject {

extern const SourceHooks kCudaHooks;

// The CUDA driver is being initialised: attaches to CUPTI, unless another mode was requested.
// Always returns 1, whatever the outcome: 0 would make the program's cuInit fail. Does nothing in a
// process without a recorder.
int on_cuda_start() noexcept;

// Marks every launch of the calling thread with `id` until pop_external() (external correlation of
// kind CUSTOM2), so that a kernel can be joined to the NCCL launch that caused it. No-ops while
// CUPTI is off; a pop without its push does nothing.
//
// HOT PATH, on the launching thread: one load while CUPTI is off, else one call into CUPTI.
void push_external(uint64_t id) noexcept;
void pop_external() noexcept;

}  // namespace dprof::inject
