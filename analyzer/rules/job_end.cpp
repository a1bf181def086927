// SPDX-License-Identifier: Apache-2.0
// Jobs that failed.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/ending/ending.h"
#include "analyzer/rules/families.h"
#include "analyzer/rules/support.h"

namespace dprof::analyzer {
namespace {

struct KindOfEnd {
  std::string_view kind;
  std::string_view advice;
  std::string_view refuted_by;
};

constexpr KindOfEnd kKinds[] = {
    {"crash",
     "read the end of that rank's standard error, or its core dump (`ulimit -c unlimited`)",
     "a core dump that shows a signal from outside"},
    {"exception", "read that rank's error: it failed first and the others followed",
     "an earlier error on another rank"},
    {"out_of_memory", "give the job more memory, or reduce num_workers or the batch size",
     "free memory in the job's cgroup when the process was killed"},
    {"hang",
     "check what that rank was doing: a branch that only it takes, a lock, a blocked read, a device that stopped",
     "records of that rank entering the collective"},
    {"early_exit",
     "give all ranks the same number of batches (drop_last, a DistributedSampler), or wrap the loop in DDP's `join()`",
     "as many steps on that rank as on the others"},
    {"desync",
     "make all ranks call the same collectives, in the same order, with the same sizes and types",
     "lost records of calls on one of the ranks"},
    {"lost_peer", "check that rank's node: is it up, and did the process start?",
     "a trace of that rank, from its node's run folder"},
    {"network_stall",
     "check the network between these ranks: interface, switch, firewall, NCCL's log (NCCL_DEBUG=INFO)",
     "a rank that had not entered the collective"},
    {"storage_stall",
     "check the file system that the checkpoint goes to: is it full, is its server reachable, does a manual write return?",
     "the same stall with checkpoints switched off"},
    {"startup_failure", "read that rank's error: it failed before training began",
     "steps trained before the recording began"},
    {"killed",
     "find out who sent the signal: the scheduler's time limit, an operator, a memory limit",
     "a program fault at the same moment"},
    {"unknown", "read the last lines of the job's output", ""},
};

const KindOfEnd& kind_of(std::string_view name) {
  const auto* found = std::ranges::find(kKinds, name, &KindOfEnd::kind);
  return found != std::end(kKinds) ? *found : std::end(kKinds)[-1];
}

// If more is known than the kind.
std::string advice_for(const Ending& ending, const KindOfEnd& kind) {
  const auto raised = std::ranges::find_if(
      ending.ranks, [](const EndedRank& rank) { return rank.first && !rank.exception.empty(); });
  if (raised == ending.ranks.end()) return std::string(kind.advice);
  if (kind.kind == "exception")
    return "fix the exception on that rank: the other ranks' errors followed from it";
  if (kind.kind == "out_of_memory" && raised->exception.find("CUDA") != std::string::npos)
    return "use less GPU memory: a smaller batch, activation checkpointing, sharded parameters; "
           "if far more is reserved than allocated, set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";
  return std::string(kind.advice);
}

// The location of the ranks that failed first, and of those that waited for them.
std::vector<Evidence> evidence_of_end(const RuleInput& input, const Ending& ending) {
  std::vector<Evidence> all;
  for (const EndedRank& rank : ending.ranks) {
    const RankDigest* digest = digest_of(input, rank.rank);
    if (digest == nullptr || digest->collectives.empty() || all.size() >= kEvidenceRanks) continue;
    const CollectiveRecord& last = digest->collectives.back();
    if (last.end && !rank.first) continue;
    const TraceNs at = last.arrival().value_or(digest->span.end);
    const TraceNs until = last.end ? *last.end : last.failed.value_or(digest->last_sign);
    all.push_back(evidence(rank.rank, "collective", {last.row}, {at, until}));
  }
  return all;
}

std::vector<Finding> run_failed(const RuleInput& input) {
  if (!has_failed(input.report)) return {};
  const Ending& ending = *input.report.ending;
  const EndVerdict& verdict = ending.verdict;
  const KindOfEnd& kind = kind_of(verdict.kind);
  const auto failed = std::ranges::count_if(
      ending.ranks, [](const EndedRank& rank) { return rank.first || has_failed(rank); });
  const auto message = std::ranges::find_if(
      ending.ranks, [](const EndedRank& rank) { return !rank.message.empty(); });
  std::string detail =
      fmt::format("{} of {} ranks did not end cleanly", failed, ending.ranks.size());
  if (message != ending.ranks.end())
    detail += fmt::format("; rank {}'s collective failed: {}", message->rank, message->message);
  Finding finding{.severity = kCritical,
                  .title = verdict.title,
                  .detail = std::move(detail),
                  .advice = advice_for(ending, kind),
                  .ranks = verdict.ranks,
                  .cause = verdict.kind,
                  .confidence = verdict.confidence,
                  .evidence = evidence_of_end(input, ending),
                  .decided_by = verdict.decided_by};
  if (!kind.refuted_by.empty()) finding.refuted_by.emplace_back(kind.refuted_by);
  return {std::move(finding)};
}

}  // namespace

constexpr Rule kRunFailed = {
    .name = "run.failed",
    .ids = "",
    .finds = "the job failed: a rank crashed, failed, was killed, hung, or left the others waiting",
    .costs = "fatal",
    .guard = "every process ended with code 0 and no collective was left unfinished",
    .advice = "start with the rank that failed first; what to check depends on how it ended",
    .judged = {.severity = kCritical},
    .detect = run_failed};

}  // namespace dprof::analyzer
