// SPDX-License-Identifier: Apache-2.0
// Jobs that ended before they trained.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/rules/startup.h"
#include "analyzer/rules/support.h"
#include "base/format.h"

namespace dprof::analyzer::startup {
namespace {

using schema::Marker;

constexpr size_t kMostCollectives = 64;  // of a set-up
constexpr size_t kMostPhases = 4;        // of a first iteration
constexpr int64_t kMostEvents = 100'000;

// Ended by itself with an error, or by a signal that is not the launcher's.
bool failed_by_itself(const TraceFile& trace) {
  return !trace.exit_status.empty() && trace.exit_status != "exit:0" &&
         trace.exit_status != "signal:15";
}

// It never got to an update of its parameters.
bool never_trained(const RankDigest& digest) {
  const auto updates = std::ranges::count(digest.phases, Marker::kOptimizer, &PhaseRange::marker);
  return updates == 0 && digest.steps.size() <= 1 && digest.phases.size() <= kMostPhases &&
         digest.collectives.size() <= kMostCollectives && digest.events <= kMostEvents &&
         digest.gpu.empty();
}

std::vector<int> culprits(const RuleInput& input) {
  std::vector<int> ranks;
  for (const TraceFile& trace : input.traces) {
    if (failed_by_itself(trace)) ranks.push_back(trace.rank);
  }
  return ranks;
}

bool met_anybody(const RankDigest& digest) {
  return !digest.collectives.empty() || !digest.communicators.empty();
}

// "in `forward` within `step`"; "" = nothing is known.
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
    words += place.empty() ? ", before anything of it was recorded" : ", " + place;
  }
  return words;
}

bool all_never_trained(const RuleInput& input) {
  return !input.digests.empty() && std::ranges::all_of(input.digests, never_trained);
}

}  // namespace

// A process that started torch and ended well without having computed anything.
std::vector<Finding> no_ranks(const RuleInput& input) {
  if (!all_never_trained(input) || input.traces.size() != input.digests.size()) return {};
  const bool idle = std::ranges::all_of(input.digests, [](const RankDigest& digest) {
    return digest.phases.empty() && digest.steps.empty() && digest.autograd.empty() &&
           digest.ops.empty() && digest.named.empty() && digest.tokens.empty() &&
           !met_anybody(digest) && digest.events == 0;
  });
  const bool well = std::ranges::all_of(
      input.traces, [](const TraceFile& trace) { return trace.exit_status == "exit:0"; });
  if (!idle || !well || input.report.run.world_size.value_or(1) > 1) return {};
  Finding finding = unpriced(FindingSeverity::kCritical, 0.6, "unknown");
  finding.title = "the job ended well, and no process of it computed anything";
  finding.detail = "no operator, no range, no collective: no rank was started";
  finding.decided_by = {fmt::format("{} trace without any event, exit:0", input.traces.size())};
  finding.refuted_by = {"training in a process that was not recorded"};
  return {std::move(finding)};
}

std::vector<Finding> failed(const RuleInput& input) {
  const std::vector<int> ranks = culprits(input);
  if (ranks.empty() || !all_never_trained(input) || input.report.hang) return {};
  Finding finding = unpriced(FindingSeverity::kCritical, 0.9, "unknown");
  finding.ranks = ranks;
  finding.title = fmt::format("the job failed before its first update: {}", list_of(ranks));
  const bool met = std::ranges::any_of(input.digests, met_anybody);
  finding.detail = how_it_ended(input, ranks.front());
  finding.detail += met ? "; the ranks had met before" : "; no collective was called, on any rank";
  if (!met)
    finding.advice = "read that rank's error: the rendezvous, the back end or the set-up failed";
  for (const int rank : ranks) {
    if (finding.decided_by.size() < 4) finding.decided_by.push_back(how_it_ended(input, rank));
  }
  finding.decided_by.push_back("no rank has an optimizer phase or two steps");
  finding.refuted_by = {"updates that were made before the recording began"};
  for (const int rank : ranks) {
    const RankDigest* digest = digest_of(input, rank);
    if (digest == nullptr || digest->phases.empty() || finding.evidence.size() >= 4) continue;
    const PhaseRange& last = digest->phases.back();
    finding.evidence.push_back(evidence(rank, "host_range", {last.row}, last.span));
  }
  return {std::move(finding)};
}

// Why it failed the trace does not say: that nobody met anybody speaks of the rendezvous, and of a
// set-up that failed just after it, too.
std::vector<Finding> rendezvous(const RuleInput& input) {
  const int64_t world = input.report.run.world_size.value_or(1);
  const std::vector<int> ranks = culprits(input);
  if (world < 2 || ranks.empty() || !all_never_trained(input) ||
      std::ranges::any_of(input.digests, met_anybody)) {
    return {};
  }
  const auto seen = static_cast<int64_t>(input.digests.size());
  const bool doubled = std::ranges::count(input.report.recording.diagnostics, "several_traces",
                                          &Diagnostic::code) > 0;
  Finding finding =
      unpriced(FindingSeverity::kWarn, doubled || seen < world ? 0.7 : 0.5, "synchronisation");
  finding.ranks = ranks;
  finding.title = fmt::format("the {} ranks of the job never formed a communicator", world);
  finding.detail = fmt::format("{} of them were recorded{}; none called a collective", seen,
                               doubled ? ", some rank numbers twice" : "");
  finding.decided_by = {"no communicator and no collective in any trace",
                        how_it_ended(input, ranks.front())};
  finding.refuted_by = {"an error of that rank which does not speak of meeting the others"};
  return {std::move(finding)};
}

}  // namespace dprof::analyzer::startup
