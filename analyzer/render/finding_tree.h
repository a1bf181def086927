// SPDX-License-Identifier: Apache-2.0
// Findings as displayed: causes in order, symptoms below their cause. A finding's number is its
// position in the list plus one, everywhere.
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

// Every finding is in exactly one node. A symptom of a symptom belongs to the first cause; if
// `caused_by` is invalid or circular, the finding has a node of its own.
[[nodiscard]] std::vector<FindingNode> finding_tree(const std::vector<Finding>& findings);

// The parts of "rank 5 holds everyone up: +46.2 ms per step (15 %), in 98 % of steps".
struct TitleParts {
  std::string heading;  // "rank 5 holds everyone up"
  std::string price;    // "+46.2 ms per step (15 %)"; "" if the finding has none
  std::string rest;     // "in 98 % of steps"
};
[[nodiscard]] TitleParts parts_of_title(const Finding& finding, std::optional<double> step_ns);

// The title with its price, added if the title does not contain it.
[[nodiscard]] std::string priced_title(const Finding& finding, std::optional<double> step_ns);

}  // namespace dprof::analyzer
