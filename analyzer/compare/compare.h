// SPDX-License-Identifier: Apache-2.0
// Two runs beside each other: where a mean step goes in each, and what the events of each name
// cost per rank and step. Names align; nothing is judged.
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
  double self_ns = 0;  // without what nests in it
  double count = 0;
  std::vector<double> by_length;  // of the count, by half octaves of the events' durations
};

// The half octave of a duration, and where a half octave begins.
[[nodiscard]] size_t length_bucket(int64_t duration_ns);
[[nodiscard]] int64_t bucket_begin_ns(size_t bucket);

struct ComparedName {
  std::string name;
  bool on_device = false;     // kernels and copies of GPUs; else ranges of the host
  std::optional<NameCost> a;  // nullopt: the run has no such event in its steady steps
  std::optional<NameCost> b;

  // b - a, of self times; what a run does not have costs nothing there.
  [[nodiscard]] double difference_ns() const;
};

struct RunComparison {
  std::optional<MeanStep> a;  // nullopt: no breakdown
  std::optional<MeanStep> b;
  std::vector<ComparedName> names;  // largest difference first, of either sign
  std::string why_no_names;         // "" = there are some
};

// A name without what differs from one build, instantiation or call to the next: template
// arguments, addresses, parameters of kernels, numbers after '#'.
[[nodiscard]] std::string aligned_name(std::string_view name);

// What the names of one run cost, for its report. nullopt: no events in steady steps.
[[nodiscard]] std::optional<Names> names_of(const ComparedRun& run, std::vector<int> ranks);

// Events count that begin in a rank's steady steps and have an end. O(events + names log names).
[[nodiscard]] RunComparison compare(const ComparedRun& a, const ComparedRun& b);

}  // namespace dprof::analyzer
