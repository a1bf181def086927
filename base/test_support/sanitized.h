// SPDX-License-Identifier: Apache-2.0
// What a test does less of under a sanitizer, where more of the same finds nothing new and takes
// minutes; `release` does all of it.
#pragma once

namespace dprof {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// Of so many repetitions a tenth, where sanitized.
[[nodiscard]] constexpr int repetitions(int count) { return kSanitized ? count / 10 : count; }

}  // namespace dprof

// Of a test that only fills something large, on one thread.
#define SKIP_IF_SANITIZED()                                                            \
  do {                                                                                 \
    if (dprof::kSanitized) GTEST_SKIP() << "fills something large: `release` runs it"; \
  } while (false)
