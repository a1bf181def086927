// SPDX-License-Identifier: Apache-2.0
// How long a case gives inputs to its target; scripts/fuzz goes on for as long as it is told to.
#pragma once

#include <chrono>

namespace dprof::fuzz {

inline constexpr std::chrono::seconds kBudget{3};

[[nodiscard]] inline bool in_time(std::chrono::steady_clock::time_point from) {
  return std::chrono::steady_clock::now() - from < kBudget;
}

}  // namespace dprof::fuzz
