// SPDX-License-Identifier: Apache-2.0
// How the work is divided among processes and devices.
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

using schema::Marker;

constexpr double kEnoughPerStage = 4;  // micro-batches in flight, per stage

// Ranks that compute on one GPU, by its UUID.
std::map<std::string, std::vector<int>> shared_devices(const RuleInput& input) {
  std::map<std::string, std::vector<int>> users;
  for (const RankDigest& digest : input.digests) {
    for (const DeviceFact& device : digest.facts.devices) {
      if (!device.uuid.empty() && device.kernels > 0) users[device.uuid].push_back(digest.rank);
    }
  }
  std::erase_if(users, [](const auto& entry) { return entry.second.size() < 2; });
  return users;
}

// Do these ranks pass messages to each other, as stages of a pipeline do?
bool pass_messages(const RuleInput& input, const std::vector<int>& ranks) {
  if (input.matching == nullptr) return false;
  const auto has = [&](const std::optional<int>& rank) {
    return rank && std::ranges::count(ranks, *rank) > 0;
  };
  return std::ranges::any_of(input.matching->messages, [&](const Message& message) {
    return has(message.from) && has(message.to);
  });
}

std::vector<Finding> sharing(const RuleInput& input, bool stages) {
  std::vector<Finding> findings;
  for (const auto& [uuid, ranks] : shared_devices(input)) {
    if (pass_messages(input, ranks) != stages) continue;
    Finding finding = unpriced(FindingSeverity::kCritical, 0.9, "device");
    finding.ranks = ranks;
    finding.title = stages ? fmt::format("stages of the model share one GPU: {}", list_of(ranks))
                           : fmt::format("{} compute on one GPU", list_of(ranks));
    finding.detail = fmt::format("{} with the UUID {}: they take turns, and share its memory",
                                 list_of(ranks), uuid);
    finding.decided_by = {fmt::format("kernels of {} ranks ran on that device", ranks.size())};
    finding.refuted_by = {"a GPU that is divided on purpose (MIG has a UUID for each part)"};
    finding.evidence = steps_evidence(input, ranks);
    findings.push_back(std::move(finding));
  }
  return findings;
}

int64_t phase_ns(const RuleInput& input, std::string_view name) {
  if (!input.report.phases) return 0;
  const auto phase = std::ranges::find(*input.report.phases, name, &PhaseSummary::name);
  if (phase == input.report.phases->end()) return 0;
  int64_t longest = 0;
  for (const RankPhase& rank : phase->per_rank) longest = std::max(longest, rank.mean_ns);
  return longest;
}

// How many micro-batches a stage computes in a step; 0 = nothing says so.
double micro_batches(const RuleInput& input) {
  double most = 0;
  if (!input.report.phases) return 0;
  for (const PhaseSummary& phase : *input.report.phases) {
    if (phase.name != "stage_forward") continue;
    for (const RankPhase& rank : phase.per_rank) most = std::max(most, rank.per_step);
  }
  return most;
}

// The part of a step in which a stage has nothing to do, if all stages take the same.
double ideal_bubble(double stages, double batches) { return (stages - 1) / (batches + stages - 1); }

}  // namespace

std::vector<Finding> device_shared(const RuleInput& input) { return sharing(input, false); }
std::vector<Finding> stages_share_device(const RuleInput& input) { return sharing(input, true); }

std::vector<Finding> single_process(const RuleInput& input) {
  if (input.digests.size() != 1 || input.report.run.world_size.value_or(1) > 1) return {};
  const RankDigest& digest = input.digests.front();
  const auto devices = std::ranges::count_if(
      digest.facts.devices, [](const DeviceFact& device) { return device.kernels > 0; });
  const int64_t replicate = phase_ns(input, "replicate");
  const bool said = replicate > 0 && phase_ns(input, "gather") > 0;
  // Several devices of one process may also be stages of one model: those are not copied.
  if (!said || (devices == 1 && !digest.gpu.empty())) return {};
  const int64_t cost = replicate + phase_ns(input, "gather") + phase_ns(input, "reduce");
  Finding finding = priced(input, cost, 0.7, "host");
  finding.ranks = {digest.rank};
  finding.title =
      fmt::format("one process drives all replicas (DataParallel): {}", per_step(input, cost));
  finding.detail = fmt::format(
      "each step copies the model to the replicas and gathers their outputs; "
      "one thread at a time launches for all of them. "
      "The cost is that of the copying, {}",
      kUpperBound);
  finding.decided_by = {
      fmt::format("phases replicate, gather and reduce in one process, {} in all", ms(cost)),
      devices > 1 ? fmt::format("{} devices have its kernels", devices)
                  : std::string("no other process of the job")};
  finding.refuted_by = {"phases of these names that copy no model"};
  finding.evidence = steps_evidence(input, std::vector<int>{digest.rank});
  return {std::move(finding)};
}

std::vector<Finding> bubble(const RuleInput& input) {
  const double batches = micro_batches(input);
  const int64_t steps = steady_steps(input);
  if (batches <= 0 || steps <= 0 || !input.report.overlap || input.matching == nullptr) return {};
  std::set<int> stages;
  for (const Message& message : input.matching->messages) {
    if (message.from) stages.insert(*message.from);
    if (message.to) stages.insert(*message.to);
  }
  const auto n = static_cast<double>(stages.size());
  if (n < 2 || batches >= kEnoughPerStage * n) return {};
  // Held up by others: a stage's idleness; its own transfers do not count.
  std::vector<int64_t> waits;
  for (const RankOverlap& rank : input.report.overlap->per_rank) {
    if (stages.contains(rank.rank)) waits.push_back(rank.exposed_wait_ns / steps);
  }
  const int64_t wait = median_ns(waits);
  const double now = ideal_bubble(n, batches);
  const double then = ideal_bubble(n, kEnoughPerStage * n);
  const auto cost = static_cast<int64_t>(static_cast<double>(wait) * (1 - then / now));
  if (share_of(input, cost) < kInfoShare) return {};
  Finding finding = priced(input, cost, 0.6, "stage_imbalance");
  finding.ranks = {stages.begin(), stages.end()};
  finding.title = fmt::format("pipeline stages stand idle with {:.0f} micro-batch{} in flight: {}",
                              batches, batches == 1 ? "" : "es", per_step(input, cost));
  finding.detail = fmt::format(
      "{} stages wait {} per step in the median; "
      "equal stages would be idle for {} of a step, with {:.0f} micro-batches for {}; {}",
      stages.size(), ms(wait), format_share(now), kEnoughPerStage * n, format_share(then),
      kUpperBound);
  finding.advice = fmt::format("at least {:.0f} micro-batches a step for {} stages",
                               kEnoughPerStage * n, stages.size());
  finding.decided_by = {fmt::format("ranges stage_forward: {:.0f} a step; {} ranks pass messages",
                                    batches, stages.size()),
                        fmt::format("(P - 1) / (M + P - 1): {} now, {} with M = 4 P",
                                    format_share(now), format_share(then))};
  finding.refuted_by = {"a run with more micro-batches of the same total that is no faster"};
  finding.evidence = evidence_of(input, finding.ranks, Marker::kForward);
  return {std::move(finding)};
}

}  // namespace dprof::analyzer::startup
