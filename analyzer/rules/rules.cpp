// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rules.h"

#include <algorithm>
#include <tuple>

#include "analyzer/rules/families.h"

namespace dprof::analyzer {
namespace {

constexpr double kExplainedShare = 1.0 / 3;

struct Found {
  const Rule* rule = nullptr;
  Finding finding;
  size_t cause = SIZE_MAX;  // position of the finding of which it is a symptom
};

std::vector<Found> run_rules(const RuleInput& input, std::span<const Rule> rules) {
  std::vector<Found> all;
  for (const Rule& rule : rules) {
    for (Finding& finding : findings_of(input, rule)) {
      finding.rule = rule.name;
      if (finding.advice.empty()) finding.advice = rule.advice;
      all.push_back({&rule, std::move(finding)});
    }
  }
  return all;
}

bool names(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const size_t comma = list.find(", ");
    if (list.substr(0, comma) == name) return true;
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 2);
  }
  return false;
}

// A culprit's finding states the kind of its delay: its causes and symptoms must be of that kind.
bool kinds_agree(const Finding& cause, const Finding& symptom) {
  if (symptom.rule == "balance.straggler") return cause.cause == symptom.cause;
  if (cause.rule != "balance.straggler") return true;
  if (cause.severity == FindingSeverity::kInfo) return false;  // not named: it explains nothing
  if (symptom.ranks.empty()) return true;
  return cause.cause == symptom.cause || cause.cause == "mixed" || cause.cause == "host";
}

// A cause that costs only a small part of its symptom's cost explains little of it.
bool costs_agree(const Finding& cause, const Finding& symptom) {
  if (!cause.cost_ns || !symptom.cost_ns) return true;
  return static_cast<double>(*cause.cost_ns) >=
         kExplainedShare * static_cast<double>(*symptom.cost_ns);
}

// A finding on ranks that the cause does not affect is not its symptom, nor is one worse than a
// cause that is hardly worth reporting.
bool explains(const Found& cause, const Found& symptom) {
  if (!names(symptom.rule->suppressed_by, cause.rule->name)) return false;
  if (cause.rule->name == kRunFailed.name) return true;
  const Finding& by = cause.finding;
  const Finding& what = symptom.finding;
  if (by.severity == FindingSeverity::kInfo && what.severity != FindingSeverity::kInfo)
    return false;
  const bool same_ranks =
      by.ranks.empty() || what.ranks.empty() || std::ranges::all_of(what.ranks, [&](int rank) {
        return std::ranges::count(by.ranks, rank) != 0;
      });
  return same_ranks && kinds_agree(by, what) && costs_agree(by, what);
}

double weight_of(const Finding& finding) {
  return static_cast<double>(finding.cost_ns.value_or(0)) * finding.confidence;
}

// Rules can name each other: causes never form a cycle.
size_t root_of(const std::vector<Found>& all, size_t at) {
  while (all[at].cause != SIZE_MAX) at = all[at].cause;
  return at;
}

// Sets each finding's cause; among several the one with the largest weight.
void hang_below(std::vector<Found>& all) {
  for (size_t s = 0; s < all.size(); ++s) {
    for (size_t c = 0; c < all.size(); ++c) {
      if (root_of(all, c) == s || !explains(all[c], all[s])) continue;
      const bool first = all[s].cause == SIZE_MAX;
      if (first || weight_of(all[c].finding) > weight_of(all[all[s].cause].finding))
        all[s].cause = c;
    }
  }
}

// Smaller comes first. The reason for a failed run is first of all, fatal findings next; findings
// without a known cost follow those with one; those only worth a line come last.
std::tuple<int, double> place_of(const Finding& finding) {
  int kind = finding.cost_ns ? 1 : 2;
  if (finding.severity == FindingSeverity::kInfo) kind = 3;
  if (finding.severity == FindingSeverity::kCritical && !finding.cost_ns) kind = 0;
  if (finding.rule == kRunFailed.name) kind = -1;
  return {kind, -weight_of(finding)};
}

std::vector<Finding> ranked(std::vector<Found> all) {
  std::vector<size_t> root(all.size());
  for (size_t i = 0; i < all.size(); ++i) root[i] = root_of(all, i);
  std::vector<size_t> order(all.size());
  for (size_t i = 0; i < all.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](size_t i) {
    return std::tuple(place_of(all[root[i]].finding), root[i], root[i] != i,
                      place_of(all[i].finding));
  });
  std::vector<Finding> findings;
  std::vector<int> new_place(all.size());
  for (const size_t i : order) {
    new_place[i] = static_cast<int>(findings.size());
    findings.push_back(std::move(all[i].finding));
    if (root[i] != i) findings.back().caused_by = new_place[root[i]];
  }
  return findings;
}

}  // namespace

std::vector<Rule> comm_rules() {
  return {kHang,
          kNoGradientSync,
          kUnfinishedReduction,
          kGlooOnGpu,
          kSlowGroup,
          kSyncEachMicrobatch,
          kServerBottleneck,
          kFindUnused,
          kNoOverlap,
          kOrderBlocked,
          kExposedTail,
          kSmallMessages,
          kLinkSaturated,
          kLowBandwidth,
          kSlowedByCollectives,
          kNeedlessBarrier,
          kBufferBroadcast,
          kSmallCollectives,
          kGatherExposed,
          kAllToAllImbalance,
          kExposedTransfer,
          kBucketCopies,
          kBlockingWait};
}

const std::vector<Family>& all_families() {
  static const std::vector<Family> kAll = {{"Start-up, parallelism and steps", startup_rules()},
                                           {"Communication", comm_rules()},
                                           {"Balance", balance_rules()},
                                           {"Input", input_rules()},
                                           {"Host, launch, synchronisation", host_rules()},
                                           {"Computation", compute_rules()},
                                           {"Memory", memory_rules()},
                                           {"Hygiene of the recording", hygiene_rules()}};
  return kAll;
}

std::vector<Finding> find_by(const RuleInput& input, std::span<const Rule> rules) {
  std::vector<Finding> findings;
  for (Found& found : run_rules(input, rules)) findings.push_back(std::move(found.finding));
  return findings;
}

std::vector<Finding> find_all(const RuleInput& input) {
  std::vector<Found> all;
  for (const Family& family : all_families()) {
    for (Found& found : run_rules(input, family.rules)) all.push_back(std::move(found));
  }
  hang_below(all);
  return ranked(std::move(all));
}

}  // namespace dprof::analyzer
