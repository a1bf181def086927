// SPDX-License-Identifier: Apache-2.0
// The categories of a step's time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "schema/marker_names.h"

namespace dprof::analyzer {

// The parts of a step's wall time (docs/analysis/breakdown.md), in report order. Every nanosecond
// belongs to exactly one.
enum class Category : uint8_t {
  kForward,
  kBackward,
  kOptimizer,
  kOtherCompute,
  kOverlapped,
  kExposedWait,
  kExposedTransfer,
  kCopy,
  kInputWait,
  kSyncBubble,
  kAllocator,
  kHost,
  kLaunch,
  kDependency,
  kIdle,
  kProfiler,
};
inline constexpr size_t kCategories = 16;
[[nodiscard]] std::string_view key_of(Category category);         // as in JSON: "exposed_wait"
[[nodiscard]] std::string_view title_of(Category category);       // for people: "exposed wait"
[[nodiscard]] std::string_view phase_name(schema::Marker phase);  // "forward"; "other"
using CategoryNs = std::array<int64_t, kCategories>;

// The category of computation in a phase.
[[nodiscard]] constexpr Category compute_in(schema::Marker phase) {
  switch (phase) {
    case schema::Marker::kForward:
      return Category::kForward;
    case schema::Marker::kBackward:
      return Category::kBackward;
    case schema::Marker::kOptimizer:
      return Category::kOptimizer;
    default:
      return Category::kOtherCompute;
  }
}

}  // namespace dprof::analyzer
