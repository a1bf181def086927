// SPDX-License-Identifier: Apache-2.0
// Common beginning of all hooks of NCCL's events.
#pragma once

#include "collector/inject/nccl/communicators.h"
#include "collector/inject/nccl/nccl_handle.h"
#include "collector/inject/threads.h"

namespace dprof::inject::nccl {

// HOT PATH. The thread's state if NCCL is recorded now, else null. After the session it switches
// NCCL's events off.
[[nodiscard]] inline ThreadState* recording() noexcept {
  if ((hot_mask() & kMaskNccl) != 0) [[likely]]
    return current_thread();
  if (!session_alive()) silence();
  return nullptr;
}

// A new id, from this thread's own numbers.
[[nodiscard]] uint64_t new_id(const ThreadState& thread, Type type, uint64_t flags = 0) noexcept;

[[nodiscard]] inline wire::Record new_record(wire::Kind kind) noexcept {
  wire::Record record;
  record.kind = kind;
  record.slots = 1;
  record.flags = 0;
  record.string = 0;
  record.ticks = ticks();
  return record;
}

}  // namespace dprof::inject::nccl
