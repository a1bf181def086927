// SPDX-License-Identifier: Apache-2.0
// Rules about which samples the ranks read, from the hashes that the program announced
// (docs/payloads.md). Part of the family input.
//
// Cost  O(batches · log batches).
#pragma once

#include <vector>

#include "analyzer/rules/rule.h"

namespace dprof::analyzer {

[[nodiscard]] std::vector<Finding> shards_overlap(const RuleInput& input);
[[nodiscard]] std::vector<Finding> order_repeats(const RuleInput& input);
[[nodiscard]] std::vector<Finding> shards_uneven(const RuleInput& input);

}  // namespace dprof::analyzer
