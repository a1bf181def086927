// SPDX-License-Identifier: Apache-2.0
// The values of `thread.wait` in system_sample: what a thread was doing when it was sampled.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dprof::schema {

inline constexpr const char* kThreadWaitKind = "thread.wait";

enum class ThreadWait : uint8_t {
  kRunning,  // on a core, or ready to be
  kSleep,    // until a time of its choice: nanosleep
  kLock,     // in a futex: a lock, condition variable, semaphore, future or join of another thread
  kPoll,     // for a message: socket, pipe, poll, select
  kDisk,     // for a file's data
  kOther,    // in the kernel, for something else
};
inline constexpr size_t kThreadWaits = 6;

// A value of the list; every other value means something else.
[[nodiscard]] constexpr ThreadWait thread_wait_of(int64_t value) {
  const bool known = value >= 0 && value < static_cast<int64_t>(kThreadWaits);
  return known ? static_cast<ThreadWait>(value) : ThreadWait::kOther;
}

}  // namespace dprof::schema
