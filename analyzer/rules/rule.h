// SPDX-License-Identifier: Apache-2.0
// A rule: a declaration, from which docs/rules.md and the text of its findings are made, and the
// function that measures. find.cpp combines both into findings.
//
// Threading  measuring functions are pure.
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/breakdown/lattice.h"
#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"
#include "analyzer/replay/what_if.h"
#include "analyzer/report/report.h"
#include "analyzer/run/run.h"
#include "analyzer/steps/steps.h"
#include "analyzer/stragglers/stragglers.h"

namespace dprof::analyzer {

using enum FindingSeverity;

// The inputs of a rule. The report is complete except for findings.
struct RuleInput {
  const Report& report;
  const std::vector<Verdict>& verdicts;
  std::span<const RankDigest> digests;
  const Matching* matching = nullptr;   // null in tests of rules that do not use it
  const Steps* steps = nullptr;         // null: no steps
  std::span<const TraceFile> traces{};  // by the same position as digests; empty in such tests
  std::span<const Lattice> pieces{};    // likewise
  const WhatIfModel* model = nullptr;   // null: nothing to replay
};

// A number or word for a placeholder in the rule's text: {copies}.
struct Figure {
  Figure(std::string_view its_name, std::string its_words)
      : name(its_name), words(std::move(its_words)) {}
  Figure(std::string_view its_name, std::integral auto number)
      : name(its_name), words(std::to_string(number)) {}

  std::string_view name;
  std::string words;
};

// One occurrence of what a rule found.
struct Measured {
  std::optional<int64_t> cost_ns = {};  // per step; nullopt: unknown
  std::vector<int> ranks = {};
  std::vector<Figure> figures = {};
  std::optional<std::vector<Evidence>> evidence = {};  // nullopt: a steady step of the ranks
  std::vector<std::string> decided_by = {};            // appended to the rule's own
  // Replaces the rule's advice.
  std::string advice = {};
  std::optional<double> confidence = {};
  std::optional<FindingSeverity> severity = {};
};

// The weight of a finding.
struct Judged {
  std::string_view cause = "unknown";
  double confidence = 1;  // low without a replayed cost: 0.5
  double at_least = 0;    // the least cost, of the median step, to be reported
  FindingSeverity mildest = FindingSeverity::kInfo;  // otherwise decided by the cost
  std::optional<FindingSeverity> severity = {};      // regardless of the cost
};

struct Rule {
  // Columns of docs/rules.md. {at least} is the threshold below.
  std::string_view name;        // "comm.sync-each-microbatch"
  std::string_view ids = {};    // of the mistakes that it finds: "M10, M13"; "" = none
  std::string_view finds = {};  // when it fires, a sentence without its period
  std::string_view costs = {};  // measured as "exposed communication of the first k - 1"
  std::string_view guard = {};  // when it does not fire
  // Rules whose finding causes this one's, separated by ", ": it is then shown below that finding.
  std::string_view suppressed_by = {};
  std::string_view advice = {};  // unless the measurement brings its own
  // The change that removes exactly this, "input=0": if a replay answers it, its gain with a bound
  // replaces the measured cost.
  std::string_view removed_by = {};
  std::string_view needs = {};  // not built: the data that traces would need

  // A finding, in words in which names in braces are figures. Those of Measured, and
  //   {cost} "12.0 ms per step (15 %)"   {ms} "12.0 ms"   {upper bound} that it is one
  //   {who} "all ranks"   {ranks} "ranks 0, 2"   {n} their number   {waits|wait} by that number
  Judged judged = {};
  std::string_view title = {};
  std::string_view detail = {};
  std::string_view decided_by[3] = {};  // texts that are empty once filled are left out
  std::string_view refuted_by[3] = {};

  std::optional<Measured> (*measure)(const RuleInput&) = nullptr;
  // Instead of `measure`, for a rule whose findings differ in more than figures.
  std::vector<Finding> (*detect)(const RuleInput&) = nullptr;

  [[nodiscard]] constexpr bool built() const { return measure != nullptr || detect != nullptr; }
};

// "waits {n} times" with the figure n in its place.
[[nodiscard]] std::string filled(std::string_view words, std::span<const Figure> figures);

// The finding for a measurement; none if nothing was measured or the cost is too low.
[[nodiscard]] std::vector<Finding> found(const RuleInput& input, const Rule& rule,
                                         std::optional<Measured> what);

// The findings of one rule, without its name and general advice.
[[nodiscard]] std::vector<Finding> findings_of(const RuleInput& input, const Rule& rule);

// One family each, in the order of docs/rules.md.
[[nodiscard]] std::vector<Rule> startup_rules();  // start-up, parallelism, steps: most of M1 to M24
[[nodiscard]] std::vector<Rule> comm_rules();
[[nodiscard]] std::vector<Rule> balance_rules();
[[nodiscard]] std::vector<Rule> input_rules();
[[nodiscard]] std::vector<Rule> host_rules();
[[nodiscard]] std::vector<Rule> compute_rules();
[[nodiscard]] std::vector<Rule> memory_rules();
[[nodiscard]] std::vector<Rule> hygiene_rules();

}  // namespace dprof::analyzer
