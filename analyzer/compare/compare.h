// SPDX-License-Identifier: Apache-2.0
// Two runs side by side: the division of a mean step in each, and the cost of events by name per
// rank and step. Names are aligned; there is no verdict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/lanes/lanes.h"
#include "analyzer/render/mean_step.h"

namespace dprof::analyzer {

// One rank's events and steps.
struct ComparedRank {
  const RankLanes* lanes = nullptr;
  std::span<const StepWindow> steps;
};

struct ComparedRun {
  const Report* report = nullptr;
  std::vector<ComparedRank> ranks;
};

// Means per rank and steady step.
struct NameCost {
  double total_ns = 0;
  double self_ns = 0;  // without nested events
  double count = 0;
  std::vector<double> by_length;  // of the count, by half octaves of the duration
};

// The half octave of a duration, and the begin of a half octave.
[[nodiscard]] size_t length_bucket(int64_t duration_ns);
[[nodiscard]] int64_t bucket_begin_ns(size_t bucket);

struct ComparedName {
  std::string name;
  bool on_device = false;     // kernels and copies on GPUs; else ranges on the host
  std::optional<NameCost> a;  // nullopt: the run has no such event in its steady steps
  std::optional<NameCost> b;

  // b - a, of self times; an event missing from a run costs nothing there.
  [[nodiscard]] double difference_ns() const;
};

struct RunComparison {
  std::optional<MeanStep> a;  // nullopt: no breakdown
  std::optional<MeanStep> b;
  std::vector<ComparedName> names;  // largest difference first, of either sign
  std::string why_no_names;         // "" = there are names
};

// A name without the parts that differ between builds, instantiations or calls: template arguments,
// addresses, kernel parameters, numbers after '#'.
[[nodiscard]] std::string aligned_name(std::string_view name);

// The last steady steps of a rank that are counted if the ranks to be counted have so many events
// in all; at least one, if it has any. All its steps if the events are not too many.
[[nodiscard]] std::span<const StepWindow> steps_to_count(std::span<const StepWindow> steps,
                                                         const StepsInfo& info, int64_t events);

// The cost of names in one run, for its report. nullopt: no events in steady steps.
[[nodiscard]] std::optional<Names> names_of(const ComparedRun& run, std::vector<int> ranks);

// Counts finished events that begin in a rank's steady steps. O(events + names log names).
[[nodiscard]] RunComparison compare(const ComparedRun& a, const ComparedRun& b);

}  // namespace dprof::analyzer
