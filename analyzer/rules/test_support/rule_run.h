// SPDX-License-Identifier: Apache-2.0
// For tests of rules: a small analysed run that a test changes where its rule looks. Twelve steps
// of 100 ms, the last ten steady.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/rules/rule.h"
#include "analyzer/rules/rules.h"

namespace dprof::analyzer {

class RuleRun {
 public:
  static constexpr int64_t kStep = 100 * kNsPerMs;
  static constexpr int64_t kSteps = 12;
  static constexpr int64_t kSteady = 10;

  explicit RuleRun(int ranks) {
    report.run.ranks = ranks;
    report.run.steps = StepsInfo{.count = kSteps,
                                 .first_steady = kSteps - kSteady,
                                 .last_steady = kSteps - 1,
                                 .steady = kSteady,
                                 .median_ns = kStep,
                                 .outer = {}};
    report.breakdown.emplace();
    report.overlap.emplace();
    digests.resize(static_cast<size_t>(ranks));
    for (int r = 0; r < ranks; ++r) {
      report.breakdown->per_rank.push_back(
          {.rank = r, .wall_ns = kSteady * kStep, .detail_ns = {}});
      report.overlap->per_rank.push_back(
          {.rank = r, .ratio = {}, .hideable_ns = {}, .best_ratio = {}});
      RankDigest& digest = rank(r);
      digest.rank = r;
      digest.span = {{0}, {kSteps * kStep}};
      digest.facts.ended = "complete";
      digest.communicators.push_back({.hash = 1,
                                      .ordinal = 0,
                                      .name = "default_pg",
                                      .size = ranks,
                                      .members = {},
                                      .own_number = r});
      for (int64_t s = 0; s < kSteps; ++s) add_step(r);
    }
  }

  RankDigest& rank(int r) { return digests[static_cast<size_t>(r)]; }
  Facts& facts(int r) { return rank(r).facts; }

  // One more step, with an optimizer phase and a reduced bucket.
  void add_step(int r) {
    RankDigest& digest = rank(r);
    const auto index = static_cast<int64_t>(digest.steps.size());
    const int64_t begin = index * kStep;
    digest.steps.push_back({index, {{begin}, {begin + kStep}}});
    digest.steps_begun = index + 1;
    digest.phases.push_back({{{begin + kStep - 2 * kNsPerMs}, {begin + kStep - kNsPerMs}},
                             schema::Marker::kOptimizer,
                             100 + index});
    CollectiveRecord record;
    record.function = schema::Function::kAllReduce;
    record.sequence = index;
    record.bucket = 0;
    digest.collectives.push_back(record);
  }

  // ns per steady step.
  void set(int r, Category category, int64_t ns) {
    report.breakdown->per_rank[static_cast<size_t>(r)].category_ns[static_cast<size_t>(category)] =
        kSteady * ns;
  }
  void set_all(Category category, int64_t ns) {
    for (const RankDigest& digest : digests) set(digest.rank, category, ns);
  }
  void set_detail_all(std::string_view key, int64_t ns) {
    for (RankBreakdown& one : report.breakdown->per_rank)
      one.detail_ns.emplace_back(std::string(key), kSteady * ns);
  }

  // Adds this many calls of that length to each step, on all ranks.
  void call_all(CallKind kind, int64_t per_step, int64_t ns) {
    for (RankDigest& digest : digests) {
      Calls& calls = digest.facts.calls[static_cast<size_t>(kind)];
      for (const StepRecord& step : digest.steps) {
        for (int64_t i = 0; i < per_step; ++i) {
          ++calls.count;
          calls.total_ns += ns;
          calls.kept.push_back({{step.window.begin.ns + (i + 1) * kNsPerMs}, ns, calls.count});
        }
      }
    }
  }

  // Gives all ranks a GPU and kernels of these classes in each step.
  void kernel_all(KernelClass what, const std::string& name, int64_t ns_per_step) {
    for (RankDigest& digest : digests) {
      Facts& facts = digest.facts;
      facts.has_gpu = true;
      KernelSum& sum = facts.kernels_by_class[static_cast<size_t>(what)];
      sum.count += kSteps;
      sum.total_ns += kSteps * ns_per_step;
      facts.kernels.push_back({.name = name,
                               .what = what,
                               .count = kSteps,
                               .total_ns = kSteps * ns_per_step,
                               .first = {0},
                               .last = {(kSteps - 1) * kStep}});
    }
  }

  // One batch per step, with hashes and epochs given by step.
  template <typename HashOf>
  void batches(int r, int64_t per_epoch, HashOf&& hash_of) {
    for (const StepRecord& step : rank(r).steps) {
      BatchFact batch;
      batch.at = {step.window.begin.ns + kNsPerMs};
      batch.wait_ns = kNsPerMs;
      batch.queue_depth = 1;
      batch.epoch = step.index / per_epoch;
      batch.hash = hash_of(step.index);
      batch.row = step.index + 1;
      facts(r).batches.push_back(batch);
    }
  }

  // Valid until the next call.
  [[nodiscard]] RuleInput input() const {
    indexed_ = matching;
    if (indexed_) index(*indexed_);
    return {.report = report,
            .verdicts = verdicts,
            .digests = digests,
            .matching = indexed_ ? &*indexed_ : nullptr,
            .traces = traces,
            .pieces = pieces};
  }
  // The findings of one rule alone.
  [[nodiscard]] std::vector<Finding> of(std::span<const Rule> family, std::string_view name) const {
    const auto rule = std::ranges::find(family, name, &Rule::name);
    if (rule == family.end() || !rule->built()) return {Finding{.rule = "no such rule"}};
    return findings_of(input(), *rule);
  }
  // The cause of the finding `name`; "" = it has none, or there is no such finding.
  [[nodiscard]] std::string cause_of(std::string_view name) const {
    const std::vector<Finding> all = find_all(input());
    for (const Finding& finding : all) {
      if (finding.rule == name && finding.caused_by)
        return all[static_cast<size_t>(*finding.caused_by)].rule;
    }
    return "";
  }

  Report report;
  std::vector<Verdict> verdicts;
  std::vector<RankDigest> digests;
  std::optional<Matching> matching;  // no value: rules get none
  std::vector<TraceFile> traces;
  std::vector<Lattice> pieces;  // by digest; empty in tests of rules that do not use them

 private:
  // Adds what follows from its instances. All communicators of a rank are the first group.
  void index(Matching& found) const {
    for (const RankDigest& digest : digests) {
      found.group_of.emplace_back(digest.communicators.size(), 0U);
      found.instance_of.emplace_back(digest.collectives.size(), kNoInstance);
    }
    for (uint32_t i = 0; i < found.instances.size(); ++i) {
      for (const Member& member : found.instances[i].members)
        found.instance_of[member.digest][member.record] = i;
    }
  }

  mutable std::optional<Matching> indexed_;
};

// Requirements on every finding.
inline bool is_complete(const Finding& finding) {
  return !finding.title.empty() && !finding.decided_by.empty() && !finding.refuted_by.empty() &&
         !finding.ranks.empty() && !finding.evidence.empty() && !finding.cause.empty() &&
         finding.confidence > 0;
}

}  // namespace dprof::analyzer
