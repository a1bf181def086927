// SPDX-License-Identifier: Apache-2.0
// How often a thing happens in a steady step.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "analyzer/steps/steps.h"

namespace dprof::analyzer {

// Steady steps by the time of their ranks. Holds references: `steps` must outlive it.
class SteadySteps {
 public:
  // Without steps nothing lies in one.
  SteadySteps(const std::optional<Steps>& steps, size_t digests);

  [[nodiscard]] size_t count() const { return steps_ == nullptr ? 0 : steps_->steady().size(); }
  [[nodiscard]] bool has_rank(size_t digest) const { return rank_of_[digest].has_value(); }
  // Position among the steady steps, by the windows of that digest's rank. O(log steps).
  [[nodiscard]] std::optional<size_t> step_at(size_t digest, TraceNs time) const;

 private:
  const Steps* steps_;
  std::vector<std::optional<size_t>> rank_of_;  // by digest: position in Steps::ranks
};

// Counts one kind of thing.
class StepCount {
 public:
  void add(std::optional<size_t> step) {
    if (step) ++in_step_[*step];
  }
  // Median over all steady steps, those without any included; nullopt = there are no steps.
  [[nodiscard]] std::optional<double> median_of(size_t steady) const;

 private:
  std::map<size_t, int64_t> in_step_;
};

}  // namespace dprof::analyzer
