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

// For a marked phase, or an operator, kernel or range by name, per rank and step. Without a limit
// it is only listed among the metrics.
struct NamedBudget {
  std::optional<double> ms;
  std::optional<double> own_ms;  // without the events it called; only for a range
  std::optional<double> calls;   // only for a range
};

struct Budgets {
  std::optional<double> step_ms;                      // the median step
  std::optional<double> exposed_communication_share;  // share of step time
  std::optional<double> input_wait_share;
  std::optional<int64_t> peak_memory;  // allocated bytes of the rank with the most
  std::optional<int64_t> lost_records;
  bool no_stragglers = false;  // stragglers = "none"
  std::map<std::string, NamedBudget> phases;
  std::map<std::string, NamedBudget> ranges;
};

// For a rule of the report, "step_time", or a budget: "budget.step_ms".
struct RuleSetting {
  bool enabled = true;
  std::optional<FindingSeverity> severity;
};

struct Waiver {
  std::string rule;
  std::string reason;
  Day expires;  // the last day on which it applies
};

struct CheckSettings {
  std::optional<double> max_slowdown;  // nullopt: the noise, at least 2 %
  FindingSeverity fail_on = FindingSeverity::kCritical;
  Budgets budgets;
  std::map<std::string, RuleSetting> rules;
  std::vector<Waiver> waivers;
};

// kUsage, with file and line, for an unknown key (with the nearest known one), a value of another
// type, or a negative budget.
Result<CheckSettings> parse_check_settings(std::string_view text, const std::string& file);

}  // namespace dprof::analyzer
