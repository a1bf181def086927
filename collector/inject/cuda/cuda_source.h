// SPDX-License-Identifier: Apache-2.0
// CUDA's activity through CUPTI: what the helper does for it, and what other sources may ask of it.
#pragma once

#include <cstdint>

#include "collector/inject/source.h"

namespace dprof::inject {

extern const SourceHooks kCudaHooks;

// The CUDA driver is being initialised: attaches to CUPTI, unless another mode was asked for.
// Always 1, whatever came of it: 0 would be an error of the program's cuInit. Does nothing in a
// process without a recorder.
int on_cuda_start() noexcept;

// Marks every launch of the calling thread until pop_external() with `id` (external correlation of
// kind CUSTOM2), so that a kernel can be joined to the NCCL launch that caused it. No-ops while
// CUPTI is not on; a pop without its push does nothing.
//
// HOT PATH, on the launching thread: one load while CUPTI is off, else one call into CUPTI.
void push_external(uint64_t id) noexcept;
void pop_external() noexcept;

}  // namespace dprof::inject
