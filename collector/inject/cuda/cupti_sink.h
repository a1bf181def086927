// SPDX-License-Identifier: Apache-2.0
// The decoder's way into the helper's ring.
//
// Threading  the helper only.
#pragma once

#include "collector/inject/cuda/cupti_decode.h"
#include "collector/inject/cuda/cupti_table.h"
#include "collector/inject/threads.h"

namespace dprof::inject {

[[nodiscard]] cupti::Sink sink_of(ThreadState* thread, const cupti::Table& table) noexcept;

// True if the helper's ring has room for a record. The helper is no training thread: it alone can
// wait for the recorder, 100 ms at most and not past `deadline_ns`.
[[nodiscard]] bool wait_for_room(uint64_t deadline_ns) noexcept;

// "cudaLaunchKernel_ptsz_v7000" as its usual name, "cudaLaunchKernel", in `plain`.
void plain_api_name(const char* name, char* plain, size_t bytes) noexcept;

}  // namespace dprof::inject
