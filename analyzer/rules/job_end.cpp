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
     "read that rank's core dump or its last lines of standard error (`ulimit -c unlimited`)",
     "a core dump that shows a signal sent from outside"},
    {"exception", "read the error of that rank: it failed first, the others followed",
     "an error of another rank that is older than this one's"},
    {"out_of_memory",
     "give the job more memory, or let it use less: fewer loader workers, a smaller batch",
     "free memory in the job's cgroup when the process was killed"},
    {"hang",
     "look at what that rank was doing: a branch that only it takes, a lock, a blocked read, a device that stopped",
     "records of that rank entering the collective"},
    {"early_exit",
     "give all ranks the same number of batches (drop_last, a DistributedSampler), or wrap the loop in DDP's `join()`",
     "as many steps on that rank as on the others"},
    {"desync",
     "make all ranks call the same collectives, in the same order, with the same sizes and types",
     "records of calls that were lost on one of them"},
    {"lost_peer", "look at that rank's node: is it up, and did its process start?",
     "a trace of that rank, from its node's run folder"},
    {"network_stall",
     "look at the network between these ranks: interface, switch, firewall, NCCL's debug log",
     "a rank that had not entered the collective"},
    {"storage_stall",
     "look at the file system that the checkpoint goes to: is it full, is its server reachable, does a write by hand return?",
     "the same stall with checkpoints switched off"},
    {"startup_failure", "read that rank's error: it failed before it trained",
     "steps that were made before the recording began"},
    {"killed",
     "find out who sent the signal: the scheduler's time limit, an operator, a memory limit",
     "a fault of the program at the same moment"},
    {"unknown", "read the last lines of the job's output", ""},
};

const KindOfEnd& kind_of(std::string_view name) {
  const auto* found = std::ranges::find(kKinds, name, &KindOfEnd::kind);
  return found != std::end(kKinds) ? *found : std::end(kKinds)[-1];
}

// Where more is known than the kind.
std::string advice_for(const Ending& ending, const KindOfEnd& kind) {
  const auto raised = std::ranges::find_if(
      ending.ranks, [](const EndedRank& rank) { return rank.first && !rank.exception.empty(); });
  if (raised == ending.ranks.end()) return std::string(kind.advice);
  if (kind.kind == "exception")
    return "mend what that rank raised: the errors of the others followed from it";
  if (kind.kind == "out_of_memory" && raised->exception.find("CUDA") != std::string::npos)
    return "use less memory on the GPU: a smaller batch, activation checkpointing, sharded parameters; "
           "where far more is reserved than allocated, PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";
  return std::string(kind.advice);
}

// Where the ranks were that failed first, and those that waited for them.
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
  std::string detail = fmt::format("{} of {} ranks did not end well", failed, ending.ranks.size());
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
    .finds =
        "the job did not end well: a rank crashed, failed, was killed, hung, or left the others waiting",
    .costs = "fatal",
    .guard = "every process ended with code 0 and no collective was left unfinished",
    .advice = "look at the rank that failed first; what to look for depends on how it ended",
    .judged = {.severity = kCritical},
    .detect = run_failed};

}  // namespace dprof::analyzer
