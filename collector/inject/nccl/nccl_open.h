// SPDX-License-Identifier: Apache-2.0
// Proxy operations and kernel channels between their start and their end, when their one record is
// written. Only with DPROF_NCCL_EVENTS.
//
// Threading  lock-free; one event is started, changed and ended by one NCCL thread.
#pragma once

#include <cstdint>

namespace dprof::inject::nccl {

inline constexpr uint32_t kMaxOpen = 4096;  // more are counted as dropped

// Writes the record of the event `id`; nothing if it is not, or no longer, open.
void finish_open(uint64_t id) noexcept;

}  // namespace dprof::inject::nccl
