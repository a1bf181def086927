// SPDX-License-Identifier: Apache-2.0
// Passes or fails a run (docs/ci.md): against earlier good runs, budgets, and its own findings. A
// typed result; formats.h renders it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/check/settings.h"
#include "analyzer/diff/diff.h"
#include "analyzer/diff/run_facts.h"
#include "base/exit_code.h"

namespace dprof::analyzer {

enum class Outcome : uint8_t {
  kPassed,
  kFailed,
  kUndecided,  // with the reason
  kExcused,    // fired, but waived, or known from the baselines
};
[[nodiscard]] std::string_view word_of(Outcome outcome);

struct CheckCase {
  std::string name;  // "step_time", "budget.step_ms", "phase.forward", "range.aten::mm", or a rule
                     // of the report
  Outcome outcome = Outcome::kPassed;
  FindingSeverity severity = FindingSeverity::kCritical;
  std::string says;    // one line
  std::string advice;  // "" = none
};

// A figure of the run worth plotting.
struct CheckMetric {
  std::string name;  // "step_seconds"
  std::string unit;  // "seconds", "ratio", "bytes", "records"
  std::string help;
  double value = 0;
  std::optional<double> half_width;  // of its 95 % interval
  std::string of;                    // the phase or range; "" = the run
};

struct CheckResult {
  Outcome verdict = Outcome::kPassed;  // never kExcused
  std::string title;                   // the answer in one line
  std::string sensitivity;             // what would have been detected, in a sentence
  std::string needed;                  // if undecided: what would decide; "" = unknown
  std::vector<std::string> remarks;    // sentences
  FindingSeverity fail_on = FindingSeverity::kCritical;
  DiffSide run;
  std::vector<CheckCase> cases;
  std::optional<Diff> diff;  // nullopt: no baseline
  std::vector<CheckMetric> metrics;

  [[nodiscard]] ExitCode code() const;
  // True if the case can fail the check.
  [[nodiscard]] bool counts(const CheckCase& one) const {
    return one.outcome == Outcome::kFailed && one.severity >= fail_on;
  }
};

struct CheckInput {
  std::span<const RunFacts> runs;       // the run to check, or several repetitions of it
  std::span<const RunFacts> baselines;  // empty: the step time is not compared
  bool is_history = false;              // leave out baselines on other hardware
  Day today;
};

[[nodiscard]] CheckResult check(const CheckInput& input, const CheckSettings& settings);

}  // namespace dprof::analyzer
