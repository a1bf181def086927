// SPDX-License-Identifier: Apache-2.0
// Operations of the proxy and channels of kernels between their start and their end, when their one
// record is written. Only with DPROF_NCCL_EVENTS.
//
// Threading  lock-free; one event is started, changed and ended by one thread of NCCL's.
#pragma once

#include <cstdint>

namespace dprof::inject::nccl {

inline constexpr uint32_t kMaxOpen = 4096;  // more are counted as dropped

// Writes the record of what began under `id`; nothing if it is not open (any more).
void finish_open(uint64_t id) noexcept;

}  // namespace dprof::inject::nccl
