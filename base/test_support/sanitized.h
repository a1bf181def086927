// SPDX-License-Identifier: Apache-2.0
// For tests that do less under a sanitizer, where more of the same finds nothing new and takes
// minutes; `release` runs all of it.
#pragma once

namespace dprof {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// A tenth of the repetitions under a sanitizer.
[[nodiscard]] constexpr int repetitions(int count) { return kSanitized ? count / 10 : count; }

}  // namespace dprof

// For a test that only fills something large, on one thread.
#define DPROF_SKIP_IF_SANITIZED()                                                      \
  do {                                                                                 \
    if (dprof::kSanitized) GTEST_SKIP() << "fills something large: `release` runs it"; \
  } while (false)
