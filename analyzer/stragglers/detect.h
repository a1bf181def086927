// SPDX-License-Identifier: Apache-2.0
// Which ranks are late of their own doing, and when.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/stragglers/segments.h"

namespace dprof::analyzer {

enum class Shape : uint8_t { kPersistent, kTransient, kPeriodic, kRotating };
[[nodiscard]] std::string_view word_of(Shape shape);

struct Suspect {
  std::optional<size_t> rank;  // entry of Steps::ranks; nullopt when rotating
  Shape shape = Shape::kPersistent;
  std::vector<size_t> when;        // entries of OwnWork::steps in which it shows
  std::vector<int64_t> excess_ns;  // per entry of OwnWork::steps: own work beyond the peers' median
  double share = 0;                // of the steps, in which it shows
};

// excess[r][s]: own work of rank r beyond the median of the other ranks, at step s.
std::vector<std::vector<int64_t>> excess_of(const OwnWork& work);

// Flags by robust statistics only; what a suspect costs decides later whether it is named. Healthy
// noise must not pass: see the constants in detect.cpp. `median_step_ns` gives the scale.
std::vector<Suspect> suspects_of(const OwnWork& work, int64_t median_step_ns);

}  // namespace dprof::analyzer
