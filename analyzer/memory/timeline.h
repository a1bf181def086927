// SPDX-License-Identifier: Apache-2.0
// A device's memory step by step.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/steps/result.h"
#include "analyzer/steps/steps.h"

namespace dprof::analyzer {

// Numbers moments by the steps of one rank. Refers to the digest.
class StepClock {
 public:
  explicit StepClock(const RankDigest& digest) : steps_(digest.steps) {}

  // Position of the step that contains `at`, or of the one before it; -1 = before the first.
  [[nodiscard]] int64_t position(TraceNs at) const;
  // The same on a continuous scale; nullopt = outside all steps.
  [[nodiscard]] std::optional<double> place(TraceNs at) const;
  // Index of the step that contains `at`; nullopt = none.
  [[nodiscard]] std::optional<int64_t> index(TraceNs at) const;
  [[nodiscard]] int64_t count() const { return static_cast<int64_t>(steps_.size()); }

 private:
  std::span<const StepRecord> steps_;
};

// The windows of the steady steps of digest `d`; empty = none.
[[nodiscard]] std::vector<Interval> steady_windows(const Steps* steps, size_t d);

// The level within a step; like a cell.
struct StepLevel {
  MemoryCell level;
  double place = 0;  // of its begin, on StepClock's scale
};

// One for each window with any cell. Cells that extend beyond a window count only if no other cell
// is inside it. O(windows log cells + cells).
[[nodiscard]] std::vector<StepLevel> levels_in(std::span<const MemoryCell> cells,
                                               std::span<const Interval> windows,
                                               const StepClock& clock);

}  // namespace dprof::analyzer
