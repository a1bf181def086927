// SPDX-License-Identifier: Apache-2.0
// Finds ranks with an own delay, and when they have it. Uses robust statistics only: its cost
// decides later whether a suspect is named.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/stragglers/own_work.h"
#include "analyzer/stragglers/roles.h"

namespace dprof::analyzer {

enum class Shape : uint8_t { kPersistent, kTransient, kPeriodic, kRotating };
[[nodiscard]] std::string_view word_of(Shape shape);

// A rank that was late in a step: entries of Steps::ranks and of OwnWork::steps.
struct Turn {
  size_t rank = 0;
  size_t step = 0;
};

struct Suspect {
  std::optional<size_t> rank;  // entry of Steps::ranks; nullopt when rotating
  Shape shape = Shape::kPersistent;
  std::vector<size_t> when;        // entries of OwnWork::steps in which it shows
  std::vector<int64_t> excess_ns;  // per entry of OwnWork::steps: own work beyond the peers' median
  bool beyond_rest = false;        // beyond those peers only that stand out in no kind of work
  double share = 0;                // of the steps in which it shows
  double chance = 0;               // that its few spikes are one rank's by luck
  std::optional<size_t> onset;     // entry of OwnWork::steps from which it lasts; none = always
  // Only if rotating.
  std::vector<Turn> turns;     // by step; of several in one step the latest first
  bool one_at_a_time = false;  // rather than each rank independently of the others
};

using Series = std::vector<int64_t>;

// Beyond the median of a rank's peers, step by step.
struct Excess {
  std::vector<Series> total;                 // [rank][entry]
  std::vector<std::vector<Series>> by_kind;  // [kind][rank][entry]; empty without kinds
};
Excess excess_of(const OwnWork& work, const Roles& roles);

// The resolution of a comparison: see docs/analysis/stragglers.md.
struct Scale {
  double threshold_ns = 0;  // of a rank's typical excess
  double prior = 0;         // assumed relative spread of computation between ranks, at least
  double least_z = 0;       // robust z of a rank among its peers
  double floor_ns = 0;      // a lasting excess of this size is found with probability 0.95
};
Scale scale_of(const OwnWork& work, const Roles& roles, const Excess& excess,
               int64_t median_step_ns);

// Fewer steps show no time structure.
inline constexpr size_t kLeastSteps = 6;

// Healthy noise must not pass: see the constants in detect.cpp. `median_step_ns` sets the scale.
// O(ranks * steps * kinds * log(ranks)).
std::vector<Suspect> suspects_of(const OwnWork& work, const Roles& roles, const Excess& excess,
                                 int64_t median_step_ns);

}  // namespace dprof::analyzer
