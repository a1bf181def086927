// SPDX-License-Identifier: Apache-2.0
// Waiting for another process. The limit is for a machine that is busy with much else: only a test
// that fails waits for it.
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
