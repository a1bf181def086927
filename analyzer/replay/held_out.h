// SPDX-License-Identifier: Apache-2.0
// A check of the replay that can fail: steps that it has not seen.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/replay/played_run.h"

namespace dprof::analyzer {

struct HeldOut {
  // The even steps from the odd ones: each piece of work, transfer and lag takes, of the lengths
  // that the same one has in the odd steps, the one at its place in the order. Median over the even
  // steps of |predicted - recorded| / recorded. nullopt: too few steps.
  std::optional<double> error;
  // Where the load changed: the second half from its own work and the first half's transfers and
  // lags; of the mean step. nullopt: it did not change.
  std::optional<double> half_error;
};

// Two replays. O(tasks log steps).
[[nodiscard]] HeldOut held_out_of(const PlayedRun& run);

}  // namespace dprof::analyzer
