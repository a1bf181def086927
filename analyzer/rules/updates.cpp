// SPDX-License-Identifier: Apache-2.0
// Steps that update nothing, and work that every rank does although one would do.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/rules/startup.h"
#include "analyzer/rules/support.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer::startup {
namespace {

using schema::Function;
using schema::Marker;

constexpr double kSkippedShare = 0.1;  // of the updates; a few are usual while the scale settles
constexpr int64_t kFewestSkipped = 3;

// The windows of a rank that gathered fewer gradients than usual, and whether an update followed.
struct Windows {
  int64_t usual = 0;  // micro-steps
  std::vector<const StepRecord*> dropped;
  int64_t dropped_ns = 0;
  size_t all = 0;
};

std::map<size_t, int64_t> counts_of(const RankDigest& digest, std::string_view name) {
  std::map<size_t, int64_t> counts;
  const auto mark = std::ranges::find(digest.marked, name, &MarkedPhase::name);
  if (mark == digest.marked.end()) return counts;
  for (const MarksInStep& in_step : mark->in_steps) counts[in_step.step] = in_step.count;
  return counts;
}

Windows windows_of(const RankDigest& digest) {
  Windows windows;
  const std::map<size_t, int64_t> micro = counts_of(digest, schema::kMicroStepName);
  std::map<int64_t, size_t> votes;
  for (const auto& [step, count] : micro) ++votes[count];
  if (votes.empty()) return windows;
  windows.usual =
      std::ranges::max_element(votes, {}, [](const auto& v) { return v.second; })->first;
  for (const auto& [step, count] : micro) {
    ++windows.all;
    if (count >= windows.usual || step >= digest.steps.size()) continue;
    const StepRecord& record = digest.steps[step];
    const bool updates = std::ranges::count(phases_in(digest, record.window), Marker::kOptimizer,
                                            &PhaseRange::marker) > 0;
    if (updates) continue;
    windows.dropped.push_back(&record);
    windows.dropped_ns += record.window.length().ns;
  }
  return windows;
}

// Each rank has a share of the parameters, and so has its own to save.
bool is_sharded(const RuleInput& input) {
  return std::ranges::any_of(steady_instances(input), [](const Instance* i) {
    return i->function == Function::kReduceScatter || i->function == Function::kAllGather;
  });
}

}  // namespace

std::vector<Finding> partial_accumulation(const RuleInput& input) {
  std::vector<int> ranks;
  std::vector<Evidence> shown;
  Windows worst;
  for (const RankDigest& digest : input.digests) {
    const Windows windows = windows_of(digest);
    if (windows.dropped.empty() || windows.usual < 2) continue;
    ranks.push_back(digest.rank);
    if (windows.dropped.size() > worst.dropped.size()) worst = windows;
    if (shown.size() >= kEvidenceRanks) continue;
    std::vector<int64_t> rows;
    for (const StepRecord* step : windows.dropped) rows.push_back(step->index);
    shown.push_back(
        evidence(digest.rank, "step", std::move(rows),
                 {windows.dropped.front()->window.begin, windows.dropped.back()->window.end}));
  }
  if (worst.all == 0) return {};  // no rank drops any
  const int64_t cost = worst.dropped_ns / static_cast<int64_t>(worst.all);
  Finding finding = priced(input, cost, 0.8, "unknown");
  finding.severity = std::max(finding.severity, FindingSeverity::kWarn);
  finding.ranks = std::move(ranks);
  finding.title = fmt::format("{} of {} windows of gradients end without an update: {}",
                              worst.dropped.size(), worst.all, per_step(input, cost));
  finding.detail = fmt::format(
      "they have fewer than the usual {} micro-batches, and no optimizer phase: "
      "their gradients go to waste, or into the next window's",
      worst.usual);
  finding.decided_by = {fmt::format("ranges micro_step: {} in a usual step, fewer in {} of {}",
                                    worst.usual, worst.dropped.size(), worst.all)};
  finding.refuted_by = {"an update in these steps that nothing marks"};
  finding.evidence = std::move(shown);
  return {std::move(finding)};
}

std::vector<Finding> skipped_steps(const RuleInput& input) {
  std::vector<int> ranks;
  std::vector<Evidence> shown;
  int64_t skipped = 0;
  int64_t updates = 0;
  for (const RankDigest& digest : input.digests) {
    const Calls& calls = digest.facts.of(CallKind::kScalerUpdate);
    const int64_t none = digest.facts.scaler_skips;
    if (calls.count <= 0 || none < kFewestSkipped ||
        static_cast<double>(none) < kSkippedShare * static_cast<double>(calls.count)) {
      continue;
    }
    ranks.push_back(digest.rank);
    if (none > skipped) {
      skipped = none;
      updates = calls.count;
    }
    if (shown.size() >= kEvidenceRanks || calls.kept.empty()) continue;
    std::vector<int64_t> rows;
    for (const Call& call : calls.kept) rows.push_back(call.row);
    shown.push_back(evidence(digest.rank, "host_range", std::move(rows),
                             {calls.kept.front().at, calls.kept.back().at}));
  }
  if (ranks.empty()) return {};
  const double share = static_cast<double>(skipped) / static_cast<double>(updates);
  const auto cost = static_cast<int64_t>(share * static_cast<double>(median_step(input)));
  Finding finding = priced(input, cost, 0.8, "unknown");
  finding.severity = std::max(finding.severity, FindingSeverity::kWarn);
  finding.ranks = std::move(ranks);
  finding.title = fmt::format("{} of {} steps change no parameter, because gradients overflow: {}",
                              skipped, updates, per_step(input, cost));
  finding.detail =
      "the gradient scaler skipped them; a few are usual while it finds its scale, not so many";
  finding.decided_by = {
      fmt::format("{} updates of the gradient scaler, {} of them with no write to parameters",
                  updates, skipped)};
  finding.refuted_by = {"a program that steps its optimizer before the scaler's update"};
  finding.evidence = std::move(shown);
  return {std::move(finding)};
}

std::vector<Finding> many_writers(const RuleInput& input) {
  const std::vector<TimeOfRank> saves = times_of(input, "host.checkpoint");
  const std::vector<TimeOfRank> logs = times_of(input, "host.logging");
  if (saves.size() < 2 || saves.size() != logs.size()) return {};
  const bool sharded = is_sharded(input);
  std::vector<TimeOfRank> writes;
  for (size_t r = 0; r < saves.size(); ++r)
    writes.push_back({saves[r].rank, (sharded ? 0 : saves[r].ns) + logs[r].ns});
  // A rank that only passes by, since another one writes, has hardly any such time.
  const std::vector<int> ranks = at_least(writes, std::max<int64_t>(1, largest_of(writes) / 10));
  if (ranks.size() < 2) return {};
  // One of them has to write.
  const int64_t cost = median_of(writes);
  if (share_of(input, cost) < kInfoShare) return {};
  // Whether the files are equal the trace does not say.
  Finding finding = priced(input, cost, 0.4, "rank0_work");
  finding.severity = FindingSeverity::kInfo;
  finding.ranks = ranks;
  finding.title =
      fmt::format("{} write checkpoints or logs: {}", who(input, ranks), per_step(input, cost));
  finding.detail =
      fmt::format("{} of it for checkpoints; replicas are equal, so one rank's file is enough; {}",
                  ms(sharded ? 0 : median_of(saves)), kUpperBound);
  finding.decided_by = {fmt::format(
      "ranges of that kind on {} ranks, and no collective that speaks of divided parameters",
      ranks.size())};
  finding.refuted_by = {"files that differ from rank to rank on purpose"};
  finding.evidence = evidence_of(input, ranks, Marker::kCheckpoint);
  if (finding.evidence.empty()) finding.evidence = steps_evidence(input, ranks);
  return {std::move(finding)};
}

}  // namespace dprof::analyzer::startup
