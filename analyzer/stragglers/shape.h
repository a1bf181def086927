// SPDX-License-Identifier: Apache-2.0
// The time structure of a rank's excess (docs/analysis/stragglers.md): its onset, the regularity of
// its spikes, and whether the spikes belong to one rank at all.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/stragglers/detect.h"

namespace dprof::analyzer {

[[nodiscard]] inline std::vector<double> doubles(const Series& values) {
  return {values.begin(), values.end()};
}

// Beyond the threshold in most steps and in several parts of the run, and by more than it
// fluctuates.
[[nodiscard]] bool lasts(const Series& excess, double threshold);

// The first entry of a lasting excess that was absent before. By the largest deviation of the
// cumulative sum from a straight line (CUSUM), verified on both sides.
[[nodiscard]] std::optional<size_t> onset_of(const Series& excess, double threshold);

[[nodiscard]] std::vector<size_t> spikes_of(const Series& excess, double threshold);

// The suspect formed by a rank's spikes. `spikes`: of all ranks, by the same threshold, of which
// `compared` have peers. `evident`: two or three suffice, because a record identifies them.
// `great_ns`: alike spikes of this size are not the hiccups of a busy machine.
[[nodiscard]] std::optional<Suspect> occasional(const std::vector<std::vector<size_t>>& spikes,
                                                size_t rank, const std::vector<Series>& excess,
                                                size_t compared, bool evident, double great_ns);

// Spikes of other ranks by turns, none more frequent than by chance: one in each step, unlike
// unrelated pauses; or pauses of one size that cost every rank a share of its time. `among`: the
// entries to consider.
[[nodiscard]] std::optional<Suspect> rotating(const std::vector<std::vector<size_t>>& spikes,
                                              const std::vector<Series>& excess,
                                              const std::vector<size_t>& among, double step_ns);

// The same if nearly every step has such a turn: the last rank is later than the next one by about
// the same amount each time. Few ranks define each other's usual value, so that no spike stands
// out; lateness by chance differs from step to step.
[[nodiscard]] std::optional<Suspect> by_turns(const std::vector<Series>& excess,
                                              const std::vector<size_t>& among, double threshold);

[[nodiscard]] double share_above(const Series& values, double threshold);

}  // namespace dprof::analyzer
