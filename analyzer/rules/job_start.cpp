// SPDX-License-Identifier: Apache-2.0
// Jobs that ended before they trained.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/ending/ending.h"
#include "analyzer/rules/families.h"
#include "analyzer/rules/support.h"

namespace dprof::analyzer {
namespace {

// Ranks that ended on their own with an error, or by a signal that is not the launcher's.
std::vector<int> culprits(const RuleInput& input) {
  std::vector<int> ranks;
  for (const TraceFile& trace : input.traces) {
    if (failed(trace) && trace.exit_status != "signal:15") ranks.push_back(trace.rank);
  }
  return ranks;
}

// "in `forward` within `step`"; "" = unknown.
std::string start_place_of(const RankDigest& digest) {
  const LastActivity& last = digest.last_activity;
  if (!last.open.empty()) {
    std::string place = fmt::format("in `{}`", last.open.front().name);
    if (last.open.size() > 1) place += fmt::format(" within `{}`", last.open[1].name);
    return place;
  }
  return last.last ? fmt::format("after `{}`", last.last->name) : std::string();
}

std::string how_it_ended(const RuleInput& input, int rank) {
  const auto trace = std::ranges::find(input.traces, rank, &TraceFile::rank);
  std::string words = fmt::format("rank {} ended with {}", rank, trace->exit_status);
  if (const RankDigest* digest = digest_of(input, rank); digest != nullptr) {
    const std::string place = start_place_of(*digest);
    words += place.empty() ? " before anything was recorded" : ", " + place;
  }
  return words;
}

bool all_never_trained(const RuleInput& input) {
  return !input.digests.empty() && std::ranges::all_of(input.digests, never_trained);
}

std::optional<Measured> failed_at_start(const RuleInput& input) {
  const std::vector<int> ranks = culprits(input);
  if (ranks.empty() || !all_never_trained(input) || input.report.hang) return {};
  const bool met = std::ranges::any_of(input.digests, met_anybody);
  Measured measured{.ranks = ranks,
                    .figures = {{"how", how_it_ended(input, ranks.front())},
                                {"met", met ? "the ranks had met before"
                                            : "no collective was called, on any rank"}},
                    .evidence = std::vector<Evidence>()};
  if (!met)
    measured.advice = "read that rank's error: the rendezvous, the backend or the set-up failed";
  for (const int rank : ranks) {
    if (measured.decided_by.size() < kEvidenceRanks)
      measured.decided_by.push_back(how_it_ended(input, rank));
    const RankDigest* digest = digest_of(input, rank);
    if (digest == nullptr || digest->phases.empty() || measured.evidence->size() >= kEvidenceRanks)
      continue;
    const PhaseRange& last = digest->phases.back();
    measured.evidence->push_back(evidence(rank, "host_range", {last.row}, last.span));
  }
  measured.decided_by.push_back("no rank has an optimizer phase or two steps");
  return measured;
}

constexpr Rule kFailedAtStart = {
    .name = "startup.failed",
    .ids = "M10, M13, M24",
    .finds = "a rank ended with an error before any rank made an update",
    .costs = "fatal: nothing was trained",
    .guard =
        "an optimizer phase or two steps on any rank; a rank that only the launcher ended; a hang; GPU activity",
    .suppressed_by = "run.failed, comm.unfinished-reduction",
    .advice = "read that rank's error; its last range shows where it was",
    .judged = {.confidence = 0.9, .severity = kCritical},
    .title = "the job failed before its first update: {ranks}",
    .detail = "{how}; {met}",
    .refuted_by = {"updates made before the recording began"},
    .measure = failed_at_start};

// Code 2, used by most programs for invalid options: no rank tried to meet.
bool is_usage_error(const RuleInput& input) {
  return std::ranges::all_of(input.traces, [](const TraceFile& trace) {
    return !failed(trace) || trace.exit_status == "exit:2" || trace.exit_status == "signal:15";
  });
}

// The trace does not record why it failed: that no rank met another fits a failed rendezvous, but
// also a set-up that failed right after it.
std::optional<Measured> rendezvous(const RuleInput& input) {
  const int64_t world = input.report.run.world_size.value_or(1);
  const std::vector<int> ranks = culprits(input);
  if (world < 2 || ranks.empty() || !all_never_trained(input) ||
      std::ranges::any_of(input.digests, met_anybody)) {
    return {};
  }
  if (is_usage_error(input)) return {};
  const auto seen = static_cast<int64_t>(input.digests.size());
  const bool doubled = std::ranges::count(input.report.recording.diagnostics, "several_traces",
                                          &Diagnostic::code) > 0;
  return Measured{.ranks = ranks,
                  .figures = {{"world", world},
                              {"seen", seen},
                              {"twice", doubled ? ", some rank numbers twice" : ""},
                              {"how", how_it_ended(input, ranks.front())}},
                  .evidence = std::vector<Evidence>(),
                  .confidence = doubled || seen < world ? 0.7 : 0.5};
}

constexpr Rule kRendezvous = {
    .name = "startup.rendezvous",
    .ids = "M9",
    .finds = "the job has two or more ranks, ended with an error, and no trace has a communicator",
    .costs = "warn: the trace does not show which error it was",
    .guard = "any collective or communicator; any update",
    .suppressed_by = "run.failed, startup.failed",
    .advice =
        "check that each process has its own RANK below WORLD_SIZE, that all use the same MASTER_ADDR (no loopback) and a free MASTER_PORT; "
        "call init_process_group once, with the backend for the tensors' devices",
    .judged = {.cause = "synchronisation", .severity = kWarn},
    .title = "the {world} ranks of the job never formed a communicator",
    .detail = "{seen} of them were recorded{twice}; none called a collective",
    .decided_by = {"no communicator and no collective in any trace", "{how}"},
    .refuted_by = {"an error on that rank that has nothing to do with the rendezvous"},
    .measure = rendezvous};

// A process that started torch and ended successfully without having computed anything.
std::optional<Measured> no_ranks(const RuleInput& input) {
  if (!all_never_trained(input) || input.traces.size() != input.digests.size()) return {};
  const bool idle = std::ranges::all_of(input.digests, [](const RankDigest& digest) {
    return digest.phases.empty() && digest.steps.empty() && digest.autograd.empty() &&
           digest.ops.empty() && digest.named.empty() && digest.tokens.empty() &&
           !met_anybody(digest) && digest.events == 0;
  });
  const bool well = std::ranges::all_of(
      input.traces, [](const TraceFile& trace) { return trace.exit_status == "exit:0"; });
  if (!idle || !well || input.report.run.world_size.value_or(1) > 1) return {};
  return Measured{.figures = {{"traces", input.traces.size()}}};
}

constexpr Rule kNoRanks = {
    .name = "startup.no-ranks",
    .ids = "M23",
    .finds = "the job succeeded, and no recorded process computed anything",
    .costs = "fatal: nothing was trained",
    .guard =
        "any event, or a job of several ranks; "
        "if no process was recorded there is no run to analyse, and `dprof record` says so (no_process)",
    .advice =
        "check how many processes the launcher starts: "
        "without a GPU, a GPU count is 0; children forked after CUDA initialisation cannot use CUDA",
    .judged = {.confidence = 0.6, .severity = kCritical},
    .title = "the job succeeded without computing anything: no rank was started",
    .detail = "no operator, no range and no collective was recorded",
    .decided_by = {"{traces} trace without any event, exit:0"},
    .refuted_by = {"training in a process that was not recorded"},
    .measure = no_ranks};

}  // namespace

std::vector<Rule> startup_rules() {
  return {kRunFailed,           kFailedAtStart,     kRendezvous,   kNoRanks,
          kDeviceShared,        kStagesShareDevice, kDataParallel, kBubble,
          kPartialAccumulation, kSkippedSteps,      kManyWriters};
}

}  // namespace dprof::analyzer
