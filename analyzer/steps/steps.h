// SPDX-License-Identifier: Apache-2.0
// The steps that all ranks have, which of them are steady, and which carry something extra.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/analysis.h"
#include "analyzer/digest/digest.h"

namespace dprof::analyzer {

struct AlignedStep {
  int64_t index = 0;
  std::vector<Interval> windows;  // one per entry of Steps::ranks
  // Where its work lay on the GPU, one per entry of Steps::ranks (device_windows.h); nullopt = the
  // rank launched none in it. Empty where no rank has any.
  std::vector<std::optional<Interval>> device_windows;
  int64_t longest_ns = 0;  // the longest rank's window
  bool outer = false;      // a steady step with something extra: in totals, but not in the median
};

// Invariant  steps are in order of index, each with a window on every rank of `ranks`;
//            first_steady <= last_steady are positions in `steps`.
struct Steps {
  std::vector<size_t> ranks;  // positions of the digests that have steps
  std::vector<AlignedStep> steps;
  size_t first_steady = 0;
  size_t last_steady = 0;
  StepsInfo info;

  [[nodiscard]] std::span<const AlignedStep> steady() const {
    return std::span(steps).subspan(first_steady, last_steady - first_steady + 1);
  }
  // An entry's step on the host until its next one begins: what lies between belongs to the one
  // before.
  [[nodiscard]] Interval until_next(size_t step, size_t entry) const;
};

// Where the warm-up ends: the first two steps never count; after them, those before the running
// median of five is at most three MADn above the median of the last half. A run that begins
// faster than it goes on is not trimmed: that is no warm-up. A position in `lengths_ns`.
[[nodiscard]] size_t end_of_warm_up(const std::vector<int64_t>& lengths_ns);

// Aligns by index: no clock enters. Ranks with less than half as many steps as usual are left out.
// nullopt = no step that is complete on all others that have any; `diagnostics` says why. With
// `chosen` (half-open indices) those steps are the steady ones.
std::optional<Steps> align_steps(std::span<const RankDigest> digests,
                                 const std::optional<std::pair<int64_t, int64_t>>& chosen,
                                 std::vector<Diagnostic>& diagnostics);

}  // namespace dprof::analyzer
