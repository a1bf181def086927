// SPDX-License-Identifier: Apache-2.0
// The settings of `dprof check`: the file dprof-check.toml (docs/ci.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/report/finding.h"
#include "base/result.h"

namespace dprof::analyzer {

using Day = std::chrono::sys_days;

// "2026-11-25".
[[nodiscard]] std::string day_text(Day day);

// Of a marked phase, or of an operator, kernel or range by its name, per rank and step. Without a
// limit it is only among the metrics.
struct NamedBudget {
  std::optional<double> ms;
  std::optional<double> own_ms;  // without what it called; of a range only
  std::optional<double> calls;   // likewise
};

struct Budgets {
  std::optional<double> step_ms;                      // the median step
  std::optional<double> exposed_communication_share;  // of step time
  std::optional<double> input_wait_share;
  std::optional<int64_t> peak_memory;  // bytes allocated, of the rank that has most
  std::optional<int64_t> lost_records;
  bool no_stragglers = false;  // stragglers = "none"
  std::map<std::string, NamedBudget> phases;
  std::map<std::string, NamedBudget> ranges;
};

// Of a rule of the report, of "step_time", or of a budget: "budget.step_ms".
struct RuleSetting {
  bool enabled = true;
  std::optional<FindingSeverity> severity;
};

struct Waiver {
  std::string rule;
  std::string reason;
  Day expires;  // the last day on which it counts
};

struct CheckSettings {
  std::optional<double> max_slowdown;  // nullopt: what the noise allows, at least 2 %
  FindingSeverity fail_on = FindingSeverity::kCritical;
  Budgets budgets;
  std::map<std::string, RuleSetting> rules;
  std::vector<Waiver> waivers;
};

// kUsage, with file and line, for an unknown key (the nearest is named), a value of another type, a
// negative budget.
Result<CheckSettings> parse_check_settings(std::string_view text, const std::string& file);

}  // namespace dprof::analyzer
