// SPDX-License-Identifier: Apache-2.0
// Waits for another process. The limit suits a busy machine: only a failing test waits that long.
#pragma once

#include <unistd.h>

namespace dprof::inject {

inline constexpr int kSoonSeconds = 60;

template <typename Condition>
bool soon(Condition&& condition) {
  for (int i = 0; i < kSoonSeconds * 100; ++i) {
    if (condition()) return true;
    usleep(10'000);
  }
  return condition();
}

}  // namespace dprof::inject
