// SPDX-License-Identifier: Apache-2.0
// Findings: what was computed, as sentences with cost, evidence and advice. Each rule stands in the
// table of its family (rule.h); here they are run, symptoms are hung below their cause, and causes
// are ranked by the time that they cost.
//
// Threading  pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyzer/report/report.h"
#include "analyzer/rules/rule.h"

namespace dprof::analyzer {

struct Family {
  std::string_view title;  // "Communication"
  std::vector<Rule> rules;
};

// All families, in the order of docs/rules.md.
[[nodiscard]] const std::vector<Family>& all_families();

// Every rule: fatal ones first, then by cost times confidence; those that cost too little to be
// called culprits after all others. A finding's symptoms follow it, with caused_by set.
[[nodiscard]] std::vector<Finding> find_all(const RuleInput& input);

// What those findings cost together that a change removes each: not the sum. nullopt: there are not
// two of them, or the model cannot answer. A replay.
[[nodiscard]] std::optional<CostTogether> cost_together(std::span<const Finding> findings,
                                                        const WhatIfModel& model);

// What these rules say, in their order: no ranking, no suppression.
[[nodiscard]] std::vector<Finding> find_by(const RuleInput& input, std::span<const Rule> rules);

// docs/rules.md.
[[nodiscard]] std::string rules_page();

}  // namespace dprof::analyzer
