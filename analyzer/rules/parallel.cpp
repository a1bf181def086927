// SPDX-License-Identifier: Apache-2.0
// How the work is divided among processes and devices.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/rules/families.h"
#include "analyzer/rules/support.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
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

// Whether these ranks pass messages to each other, as stages of a pipeline do.
bool pass_messages(const RuleInput& input, const std::vector<int>& ranks) {
  if (input.matching == nullptr) return false;
  const auto has = [&](const std::optional<int>& rank) {
    return rank && std::ranges::count(ranks, *rank) > 0;
  };
  return std::ranges::any_of(input.matching->messages, [&](const Message& message) {
    return has(message.from) && has(message.to);
  });
}

// Each GPU that ranks share, either as stages of one model or otherwise.
std::vector<Finding> sharing(const RuleInput& input, const Rule& rule, bool stages) {
  std::vector<Finding> findings;
  for (const auto& [uuid, ranks] : shared_devices(input)) {
    if (pass_messages(input, ranks) != stages) continue;
    std::ranges::move(found(input, rule, Measured{.ranks = ranks, .figures = {{"uuid", uuid}}}),
                      std::back_inserter(findings));
  }
  return findings;
}
constexpr std::string_view kTurns =
    "{ranks} use the GPU with UUID {uuid}: they take turns on it and share its memory";
constexpr std::string_view kKernelsOf = "kernels of {n} ranks ran on that device";
constexpr std::string_view kDivided =
    "a GPU that is partitioned on purpose (each MIG instance has its own UUID)";

int64_t phase_ns(const RuleInput& input, std::string_view name) {
  if (!input.report.phases) return 0;
  const auto phase = std::ranges::find(*input.report.phases, name, &PhaseSummary::name);
  if (phase == input.report.phases->end()) return 0;
  int64_t longest = 0;
  for (const RankPhase& rank : phase->per_rank) longest = std::max(longest, rank.mean_ns);
  return longest;
}

// Micro-batches that a stage computes in a step; 0 = unknown. Each is a forward and a backward; the
// first forward may have another name.
double micro_batches(const RuleInput& input) {
  double most = 0;
  bool in_stages = false;
  if (!input.report.phases) return 0;
  for (const PhaseSummary& phase : *input.report.phases) {
    if (phase.name != "stage_forward" && phase.name != "stage_backward") continue;
    in_stages |= phase.name == "stage_forward";
    for (const RankPhase& rank : phase.per_rank) most = std::max(most, rank.per_step);
  }
  return in_stages ? most : 0;
}

// Ranks that messages connect, most of all: a pipeline. Its replicas send each other none.
size_t stages_of_a_pipeline(const std::vector<Message>& messages) {
  std::map<int, int> before;  // towards the lowest rank of its pipeline
  const auto first_of = [&](int rank) {
    int at = rank;
    for (auto next = before.find(at); next != before.end() && next->second != at;
         next = before.find(at)) {
      at = next->second;
    }
    return before[rank] = at;
  };
  for (const Message& message : messages) {
    if (!message.from || !message.to) continue;
    const auto [low, high] = std::minmax({first_of(*message.from), first_of(*message.to)});
    before[high] = low;
  }
  std::map<int, size_t> sizes;
  size_t most = 0;
  for (const auto& [rank, next] : before) most = std::max(most, ++sizes[first_of(rank)]);
  return most;
}

// The idle part of a stage's step if all stages take equally long.
double ideal_bubble(double stages, double batches) { return (stages - 1) / (batches + stages - 1); }

std::optional<Measured> data_parallel(const RuleInput& input) {
  if (input.digests.size() != 1 || input.report.run.world_size.value_or(1) > 1) return {};
  const RankDigest& digest = input.digests.front();
  const auto devices = std::ranges::count_if(
      digest.facts.devices, [](const DeviceFact& device) { return device.kernels > 0; });
  const int64_t replicate = phase_ns(input, "replicate");
  const int64_t gather = phase_ns(input, "gather");
  const bool said = replicate > 0 && gather > 0;
  // Several devices of one process can also be stages of one model: those are not copied.
  if (!said || (devices == 1 && !digest.gpu.empty())) return {};
  return Measured{
      .cost_ns = replicate + gather + phase_ns(input, "reduce"),
      .ranks = {digest.rank},
      .figures = {{"devices", devices > 1 ? fmt::format("{} devices have its kernels", devices)
                                          : "no other process of the job"}}};
}

std::optional<Measured> bubble(const RuleInput& input) {
  const double batches = micro_batches(input);
  const int64_t steps = steady_steps(input);
  if (batches <= 0 || steps <= 0 || !input.report.overlap || input.matching == nullptr) return {};
  std::set<int> members;
  for (const Message& message : input.matching->messages) {
    if (message.from) members.insert(*message.from);
    if (message.to) members.insert(*message.to);
  }
  const size_t count = stages_of_a_pipeline(input.matching->messages);
  const auto n = static_cast<double>(count);
  if (count < 2 || batches >= kEnoughPerStage * n) return {};
  // Time held up by others: a stage's idleness; its own transfers do not count.
  std::vector<int64_t> waits;
  for (const RankOverlap& rank : input.report.overlap->per_rank) {
    if (members.contains(rank.rank)) waits.push_back(rank.exposed_wait_ns / steps);
  }
  const int64_t wait = median_ns(waits);
  // Of two stages neither is known to be the normal one: a delay cannot be told from an unequal
  // division of the work, which is what the bubble is made of.
  const int64_t for_culprits = members.size() > 2 ? std::min(wait, waiting_for_culprits(input)) : 0;
  const double now = ideal_bubble(n, batches);
  const double then = ideal_bubble(n, kEnoughPerStage * n);
  const auto cost =
      static_cast<int64_t>(static_cast<double>(wait - for_culprits) * (1 - then / now));
  const std::vector<int> ranks(members.begin(), members.end());
  return Measured{.cost_ns = cost,
                  .ranks = ranks,
                  .figures = {{"batches", fmt::format("{:.0f}", batches)},
                              {"batches in flight", fmt::format("{:.0f} micro-batch{}", batches,
                                                                batches == 1 ? "" : "es")},
                              {"stages", fmt::format("{}", count)},
                              {"wait", ms(wait)},
                              {"culprits", words_on_culprits(for_culprits)},
                              {"now", format_share(now)},
                              {"enough", fmt::format("{:.0f}", kEnoughPerStage * n)},
                              {"then", format_share(then)}},
                  .evidence = evidence_of(input, ranks, Marker::kForward),
                  .advice = fmt::format("use at least {:.0f} micro-batches per step for {} stages",
                                        kEnoughPerStage * n, count)};
}

}  // namespace

constexpr Rule kDeviceShared = {
    .name = "device.shared",
    .ids = "M11",
    .finds = "two or more ranks run kernels on a GPU with the same UUID",
    .costs = "fatal for speed: they take turns",
    .guard =
        "GPU partitions with their own UUID (MIG); "
        "ranks that pass messages to each other (parallel.stages-share-device)",
    .advice =
        "call torch.cuda.set_device(local_rank) first; pass only that device in device_ids; "
        "if the host has fewer GPUs than ranks, start fewer ranks",
    .judged = {.cause = "device", .confidence = 0.9, .severity = kCritical},
    .title = "{ranks} share one GPU",
    .detail = kTurns,
    .decided_by = {kKernelsOf},
    .refuted_by = {kDivided},
    .detect = [](const RuleInput& input) { return sharing(input, kDeviceShared, false); }};

constexpr Rule kStagesShareDevice = {
    .name = "parallel.stages-share-device",
    .ids = "M14",
    .finds = "ranks that pass messages to each other run kernels on a GPU with the same UUID",
    .costs = "fatal for speed: the stages take turns and share the memory",
    .guard =
        "both parts of the model run in one process: the trace does not show which part a kernel belongs to",
    .advice = "give each stage its own device (torch.cuda.set_device)",
    .judged = {.cause = "device", .confidence = 0.9, .severity = kCritical},
    .title = "pipeline stages share one GPU: {ranks}",
    .detail = kTurns,
    .decided_by = {kKernelsOf},
    .refuted_by = {kDivided},
    .detect = [](const RuleInput& input) { return sharing(input, kStagesShareDevice, true); }};

constexpr Rule kDataParallel = {
    .name = "parallel.single-process",
    .ids = "M5",
    .finds = "one process has the phases replicate and gather in its steps",
    .costs = "upper bound: replicate, gather and reduce",
    .guard = "several ranks; model stages on several devices, which are not copied",
    .advice = "use DistributedDataParallel with one process per GPU",
    .judged = {.cause = "host", .confidence = 0.7},
    .title = "one process drives all replicas (DataParallel): {cost}",
    .detail =
        "each step copies the model to the replicas and gathers their outputs; "
        "one thread at a time launches for all of them. "
        "The cost is the copying, {upper bound}",
    .decided_by = {"phases replicate, gather and reduce in one process, {ms} in all", "{devices}"},
    .refuted_by = {"phases with these names that copy no model"},
    .measure = data_parallel};

constexpr Rule kBubble = {
    .name = "parallel.bubble",
    .ids = "M22",
    .finds =
        "a pipeline has fewer than four micro-batches in flight per stage, and its stages wait for each other",
    .costs =
        "upper bound: their waiting, less that for named culprits and what would remain with four per stage",
    .guard = "no ranges named stage_forward; below {at least} of the step",
    .advice = "use more micro-batches",
    .judged = {.cause = "stage_imbalance", .confidence = 0.6, .at_least = kInfoShare},
    .title = "pipeline stages are idle with only {batches in flight} in flight: {cost}",
    .detail =
        "the median of {n} ranks waits {wait} per step{culprits}; "
        "{stages} equal stages would be idle for {now} of a step, or for {then} with {enough} micro-batches; {upper bound}",
    .decided_by =
        {"{batches} micro-batches per step, by ranges named stage_forward and stage_backward; "
         "messages connect {stages} of {n} ranks with each other",
         "(P - 1) / (M + P - 1): {now} now, {then} with M = 4 P"},
    .refuted_by = {"a run with more and smaller micro-batches that is no faster"},
    .measure = bubble};

}  // namespace dprof::analyzer
