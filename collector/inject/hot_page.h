// SPDX-License-Identifier: Apache-2.0
// The words that every hook tests first, in a page of their own that the kernel wipes in a fork
// child (MADV_WIPEONFORK). So 0 means "off" there, even after a raw fork system call that runs no
// handler of ours.
//
// Threading  read by every hook (relaxed); written by the session and the helper.
// Cost       one load and a branch.
#pragma once

#include <atomic>
#include <cstdint>

#include "collector/inject/hot_bits.h"

namespace dprof::inject {

struct alignas(4096) HotPage {
  std::atomic<uint32_t> mask;   // which sources record now
  std::atomic<uint32_t> alive;  // 1: there is a session, recording or paused
  std::atomic<int32_t> pid;     // of the session; 0 in a fork child
  unsigned char rest[4096 - 12];
};
static_assert(sizeof(HotPage) == 4096);

extern HotPage hot_page;

[[nodiscard]] inline uint32_t hot_mask() noexcept {
  return hot_page.mask.load(std::memory_order_relaxed);
}
[[nodiscard]] inline bool session_alive() noexcept {
  return hot_page.alive.load(std::memory_order_acquire) != 0;
}

}  // namespace dprof::inject
