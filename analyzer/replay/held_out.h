// SPDX-License-Identifier: Apache-2.0
// A check of the replay against steps that it has not seen.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/replay/played_run.h"

namespace dprof::analyzer {

struct HeldOut {
  // Predicts the even steps from the odd ones: each piece of work, transfer and lag takes its own
  // length from the odd steps at its place in the order. Median over the even steps of |predicted -
  // recorded| / recorded. nullopt: too few steps.
  std::optional<double> error;
  // If the load changed: predicts the mean step of the second half from its own work and the first
  // half's transfers and lags. nullopt: the load did not change.
  std::optional<double> half_error;
};

// Two replays. O(tasks log steps).
[[nodiscard]] HeldOut held_out_of(const PlayedRun& run);

}  // namespace dprof::analyzer
