// SPDX-License-Identifier: Apache-2.0
// What computation in a phase counts as.
#pragma once

#include "analyzer/vocabulary/category.h"
#include "schema/marker_names.h"

namespace dprof::analyzer {

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
