// SPDX-License-Identifier: Apache-2.0
// What a rule is: a declaration, from which docs/rules.md is made, and a predicate over what was
// computed. Rules of one family stand in one file (comm.cpp, balance.cpp, …) as one table.
//
// Threading  predicates are pure functions.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"
#include "analyzer/report/report.h"
#include "analyzer/run/run.h"
#include "analyzer/steps/steps.h"
#include "analyzer/stragglers/stragglers.h"

namespace dprof::analyzer {

// Everything that a rule may look at. The report has all but findings.
struct RuleInput {
  const Report& report;
  const std::vector<Verdict>& verdicts;
  std::span<const RankDigest> digests;
  const Matching* matching = nullptr;   // null in tests of rules that do not ask
  const Steps* steps = nullptr;         // null: no steps
  std::span<const TraceFile> traces{};  // by the same position as digests; empty in such tests
};

struct Rule {
  std::string_view name;        // "comm.sync-each-microbatch"
  std::string_view ids = {};    // of the mistakes that it finds: "M10, M13"; "" = none
  std::string_view finds = {};  // when it fires, a sentence without its period
  std::string_view severity;    // measured by: "exposed communication of the first k - 1"
  std::string_view guard;       // when it does not fire
  // Names of rules whose finding is the cause of this one's, by ", ": then it hangs below that one.
  std::string_view suppressed_by;
  std::string_view advice;
  // Findings without rule, advice and caused_by, which are filled from the declaration; advice only
  // where the predicate left it empty.
  std::vector<Finding> (*detect)(const RuleInput&) = nullptr;
  std::string_view needs = {};  // not built: what the traces would have to tell; detect is null
};

// One family each.
std::span<const Rule> comm_rules();
std::span<const Rule> balance_rules();
std::span<const Rule> input_rules();
std::span<const Rule> host_rules();
std::span<const Rule> compute_rules();
std::span<const Rule> memory_rules();
std::span<const Rule> hygiene_rules();
std::span<const Rule> startup_rules();  // start-up, parallelism, steps: most mistakes M1 to M24

}  // namespace dprof::analyzer
