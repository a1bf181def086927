// SPDX-License-Identifier: Apache-2.0
// Steps without an update, and work that every rank does although one would be enough.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyzer/rules/families.h"
#include "analyzer/rules/support.h"

namespace dprof::analyzer {
namespace {

using schema::Function;
using schema::Marker;

constexpr double kSkippedShare = 0.1;  // of the updates; a few are usual while the scale settles
constexpr int64_t kFewestSkipped = 3;

// The windows of a rank with fewer gradients than usual, and whether an update followed.
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
    if (has_update(digest, record)) continue;
    windows.dropped.push_back(&record);
    windows.dropped_ns += record.window.length().ns;
  }
  return windows;
}

// Each rank has a share of the parameters, and therefore its own to save.
bool is_sharded(const RuleInput& input) {
  return std::ranges::any_of(steady_instances(input), [](const Instance* i) {
    return i->function == Function::kReduceScatter || i->function == Function::kAllGather;
  });
}

std::optional<Measured> partial_accumulation(const RuleInput& input) {
  Measured measured{.evidence = std::vector<Evidence>()};
  Windows worst;
  for (const RankDigest& digest : input.digests) {
    const Windows windows = windows_of(digest);
    if (windows.dropped.empty() || windows.usual < 2) continue;
    measured.ranks.push_back(digest.rank);
    if (windows.dropped.size() > worst.dropped.size()) worst = windows;
    if (measured.ranks.size() > kEvidenceRanks) continue;
    std::vector<int64_t> rows;
    for (const StepRecord* step : windows.dropped) rows.push_back(step->index);
    measured.evidence->push_back(
        evidence(digest.rank, "step", std::move(rows),
                 {windows.dropped.front()->window.begin, windows.dropped.back()->window.end}));
  }
  if (worst.all == 0) return {};  // no rank drops any
  measured.cost_ns = worst.dropped_ns / static_cast<int64_t>(worst.all);
  measured.figures = {
      {"dropped", worst.dropped.size()}, {"all", worst.all}, {"usual", worst.usual}};
  return measured;
}

std::optional<Measured> skipped_steps(const RuleInput& input) {
  Measured measured{.evidence = std::vector<Evidence>()};
  int64_t skipped = 0;
  int64_t updates = 0;
  for (const RankDigest& digest : input.digests) {
    const Calls& calls = digest.facts.of(CallKind::kScalerUpdate);
    const int64_t none = digest.facts.scaler_skips;
    if (calls.count <= 0 || none < kFewestSkipped ||
        static_cast<double>(none) < kSkippedShare * static_cast<double>(calls.count)) {
      continue;
    }
    measured.ranks.push_back(digest.rank);
    if (none > skipped) {
      skipped = none;
      updates = calls.count;
    }
    if (measured.evidence->size() >= kEvidenceRanks || calls.kept.empty()) continue;
    std::vector<int64_t> rows;
    for (const Call& call : calls.kept) rows.push_back(call.row);
    measured.evidence->push_back(evidence(digest.rank, "host_range", std::move(rows),
                                          {calls.kept.front().at, calls.kept.back().at}));
  }
  if (measured.ranks.empty()) return {};
  measured.cost_ns =
      static_cast<int64_t>(ratio(skipped, updates) * static_cast<double>(median_step(input)));
  measured.figures = {{"skipped", skipped}, {"updates", updates}};
  return measured;
}

std::optional<Measured> many_writers(const RuleInput& input) {
  std::vector<TimeOfRank> saves = times_of(input, "host.checkpoint");
  if (is_sharded(input)) {
    for (TimeOfRank& save : saves) save.ns = 0;
  }
  const std::vector<TimeOfRank> writes = sum_of(saves, times_of(input, "host.logging"));
  // A rank that merely passes by, because another one writes, has hardly any such time.
  const std::vector<int> ranks = at_least(writes, std::max<int64_t>(1, largest_of(writes) / 10));
  if (ranks.size() < 2) return {};
  std::vector<Evidence> rows = evidence_of(input, ranks, Marker::kCheckpoint);
  // One of the ranks must write.
  Measured measured{.cost_ns = median_of(writes),
                    .ranks = ranks,
                    .figures = {{"checkpoints", ms(median_of(saves))}}};
  if (!rows.empty()) measured.evidence = std::move(rows);
  return measured;
}

}  // namespace

constexpr Rule kPartialAccumulation = {
    .name = "step.partial-accumulation",
    .ids = "M20",
    .finds = "steps with fewer micro-batches than usual and no optimizer phase",
    .costs = "the time of these steps; at least warn, since samples are wasted",
    .guard = "no ranges named micro_step; the short window ends with an update",
    .advice =
        "also call optimizer.step() at the end of the data, and divide the loss by the actual number of batches",
    .judged = {.confidence = 0.8, .mildest = kWarn},
    .title = "{dropped} of {all} accumulation windows end without an update: {cost}",
    .detail =
        "they have fewer than the usual {usual} micro-batches and no optimizer phase: "
        "their gradients are lost, or leak into the next window",
    .decided_by = {"ranges named micro_step: {usual} in a usual step, fewer in {dropped} of {all}"},
    .refuted_by = {"an unmarked update in these steps"},
    .measure = partial_accumulation};

constexpr Rule kSkippedSteps = {
    .name = "amp.skipped-steps",
    .ids = "M21",
    .finds =
        "at least a tenth of the gradient scaler's updates, and at least three, change no parameter",
    .costs = "share of the steps that were wasted; at least warn",
    .guard = "operators were not recorded (detail full has them); fewer skips",
    .advice =
        "call optimizer.zero_grad() in every step, and scaler.unscale_() before clipping; or use bfloat16, which needs no scaler",
    .judged = {.confidence = 0.8, .mildest = kWarn},
    .title = "{skipped} of {updates} steps change no parameter, because gradients overflow: {cost}",
    .detail =
        "the gradient scaler skipped them; a few are normal while it finds its scale, this many are not",
    .decided_by =
        {"{updates} updates of the gradient scaler, {skipped} of them without a write to parameters"},
    .refuted_by = {"a program that steps its optimizer before the scaler's update"},
    .measure = skipped_steps};

// Info regardless of its cost: the trace does not show whether the files are equal.
constexpr Rule kManyWriters = {
    .name = "io.many-writers",
    .ids = "M19",
    .finds = "two or more ranks spend time in checkpoint or logging ranges",
    .costs =
        "info: median over ranks of that time; the trace does not show whether the files are equal",
    .guard = "checkpoints of sharded parameters; below {at least} of the step",
    .advice = "save and log on rank 0 only; save sharded state with torch.distributed.checkpoint",
    .judged = {.cause = "rank0_work", .confidence = 0.4, .at_least = kInfoShare, .severity = kInfo},
    .title = "{who} write checkpoints or logs: {cost}",
    .detail =
        "{checkpoints} of it for checkpoints; replicas are equal, so one rank's file is enough; {upper bound}",
    .decided_by = {"such ranges on {n} ranks, and no collective that indicates sharded parameters"},
    .refuted_by = {"files that differ from rank to rank on purpose"},
    .measure = many_writers};

}  // namespace dprof::analyzer
