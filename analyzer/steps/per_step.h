// SPDX-License-Identifier: Apache-2.0
// Assigns events to steps, and counts how many occur per step.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/match/result.h"
#include "analyzer/steps/result.h"

namespace dprof::analyzer {

// A subset of the run's steps, by the time of their ranks. Refers to them.
// Cost  O(log steps) per query.
class StepsByTime {
 public:
  // The steady steps; without steps every query returns nullopt.
  StepsByTime(const std::optional<Steps>& steps, size_t digests);
  StepsByTime(const Steps& steps, std::span<const AlignedStep> chosen, size_t digests);

  [[nodiscard]] size_t count() const { return chosen_.size(); }
  // Position among the steps, by the windows of that digest's rank; nullopt = outside all of them.
  [[nodiscard]] std::optional<size_t> at(size_t digest, TraceNs time) const;
  // By the first member whose rank has steps; for a message by the sender, else the receiver.
  [[nodiscard]] std::optional<size_t> of(const Instance& instance,
                                         std::span<const RankDigest> digests) const;
  [[nodiscard]] std::optional<size_t> of(const Message& message,
                                         std::span<const RankDigest> digests) const;

 private:
  [[nodiscard]] std::optional<TraceNs> arrival_of(const Member& member,
                                                  std::span<const RankDigest> digests) const;

  std::span<const AlignedStep> chosen_;
  std::vector<std::optional<size_t>> rank_of_;  // by digest: position in Steps::ranks
};

// Counts one kind of event.
class StepCount {
 public:
  void add(std::optional<size_t> step) {
    if (step) ++in_step_[*step];
  }
  // Median over all steps, including those without any; nullopt = no steps.
  [[nodiscard]] std::optional<double> median_of(size_t steps) const;

 private:
  std::map<size_t, int64_t> in_step_;
};

}  // namespace dprof::analyzer
