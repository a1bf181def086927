// SPDX-License-Identifier: Apache-2.0
// Findings: computed results as sentences with cost, evidence and advice. Each rule is defined in
// the table of its family (rule.h). This runs them, attaches symptoms to their causes, and ranks
// the causes by the time they cost.
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

// Runs every rule. Fatal findings first, then by cost times confidence, then those that cost too
// little to be called culprits. A finding's symptoms follow it, with caused_by set.
[[nodiscard]] std::vector<Finding> find_all(const RuleInput& input);

// The combined cost of those findings that a change can remove, which is not their sum. nullopt:
// fewer than two such findings, or the model cannot answer. Needs a replay.
[[nodiscard]] std::optional<CostTogether> cost_together(std::span<const Finding> findings,
                                                        const WhatIfModel& model);

// The findings of these rules, in their order, without ranking and suppression.
[[nodiscard]] std::vector<Finding> find_by(const RuleInput& input, std::span<const Rule> rules);

// The text of docs/rules.md.
[[nodiscard]] std::string rules_page();

}  // namespace dprof::analyzer
