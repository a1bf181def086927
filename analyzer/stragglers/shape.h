// SPDX-License-Identifier: Apache-2.0
// The time structure of a rank's excess (docs/analysis/stragglers.md): since when it lasts, whether
// its spikes come at regular intervals, and whether they are one rank's at all.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/stragglers/detect.h"

namespace dprof::analyzer {

[[nodiscard]] inline std::vector<double> doubles(const Series& values) {
  return {values.begin(), values.end()};
}

// Beyond the threshold in most steps and in several parts of the run, and more than it fluctuates.
[[nodiscard]] bool lasts(const Series& excess, double threshold);

// The first entry from which on an excess lasts that was not there before. By the largest deviation
// of the cumulated sum from its line (CUSUM), verified on either side of it.
[[nodiscard]] std::optional<size_t> onset_of(const Series& excess, double threshold);

[[nodiscard]] std::vector<size_t> spikes_of(const Series& excess, double threshold);

// The suspect that a rank is by its spikes. `spikes`: of all ranks, by the same threshold.
// `evident`: two or three of them are enough, for something says what they are. `great_ns`: spikes
// of that size are no hiccups of a busy machine, if they are alike.
[[nodiscard]] std::optional<Suspect> occasional(const std::vector<std::vector<size_t>>& spikes,
                                                size_t rank, const std::vector<Series>& excess,
                                                bool evident, double great_ns);

// Spikes of other ranks by turns, none of them more often than chance explains: one in each step,
// as unrelated pauses would not come; or pauses of one size that take every rank a share of its
// time. `among`: the entries that are looked at.
[[nodiscard]] std::optional<Suspect> rotating(const std::vector<std::vector<size_t>>& spikes,
                                              const std::vector<Series>& excess,
                                              const std::vector<size_t>& among, double step_ns);

// The same where it is somebody's turn in nearly every step: the last rank is later than the next
// by about the same each time. Few ranks are each other's measure of what is usual, so that no
// spike stands out then; what chance makes the last one late by differs from step to step.
[[nodiscard]] std::optional<Suspect> by_turns(const std::vector<Series>& excess,
                                              const std::vector<size_t>& among, double threshold);

[[nodiscard]] double share_above(const Series& values, double threshold);

}  // namespace dprof::analyzer
