// SPDX-License-Identifier: Apache-2.0
// Findings as they are shown: causes in their order, symptoms below the cause that they go back to.
// A finding's number is its position in the list plus one, wherever it is shown.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/report/report.h"

namespace dprof::analyzer {

struct FindingNode {
  size_t index = 0;              // of the cause
  std::vector<size_t> symptoms;  // by position
};

// Every finding is in exactly one node. A symptom of a symptom belongs to the first cause; where
// `caused_by` leads nowhere or round in a circle, a finding stands for itself.
[[nodiscard]] std::vector<FindingNode> finding_tree(const std::vector<Finding>& findings);

// "rank 5 holds everyone up: +46.2 ms per step (15 %), in 98 % of steps" in its parts.
struct TitleParts {
  std::string heading;  // "rank 5 holds everyone up"
  std::string price;    // "+46.2 ms per step (15 %)"; "" where the finding has none
  std::string rest;     // "in 98 % of steps"
};
[[nodiscard]] TitleParts parts_of_title(const Finding& finding, std::optional<double> step_ns);

// The title with its price, also where the title does not say it.
[[nodiscard]] std::string priced_title(const Finding& finding, std::optional<double> step_ns);

}  // namespace dprof::analyzer
