// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "analyzer/breakdown/host_numbers.h"
#include "analyzer/breakdown/slow_groups.h"
#include "analyzer/breakdown/slow_links.h"
#include "analyzer/steps/per_step.h"
#include "analyzer/vocabulary/thresholds.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kOneGroup = 0.6;  // confidence: of one slow group, and of several
constexpr double kSeveralGroups = 0.85;
constexpr double kAnywhere = 0.5;   // if the slow link cannot be located
constexpr size_t kNeverSteady = 2;  // the first steps of a run

// The common part of all network verdicts, and whether the cost is certain.
void judge_cost(const Comparison& c, Verdict& verdict) {
  Straggler& s = verdict.straggler;
  s.shape = "persistent";
  s.cause = "network";
  verdict.step_ns = std::max<int64_t>(0, c.steps.info.median_ns - s.cost_ns);
  verdict.kind = "transfers";
  const double median = static_cast<double>(std::max<int64_t>(1, c.steps.info.median_ns));
  verdict.named = static_cast<double>(s.cost_ns) / median >= least_named(c.steps.ranks.size());
}

// Without the name of a host: one of several.
Verdict verdict_of(const Comparison& c, const SlowHost& host) {
  Verdict verdict;
  Straggler& s = verdict.straggler;
  if (!host.ranks.empty()) s.rank = host.ranks.front();
  s.cost_ns = host.excess_ns;
  s.n = static_cast<int64_t>(c.steps.steady().size());
  s.confidence = host.host.empty() ? kAnywhere : host.groups > 1 ? kSeveralGroups : kOneGroup;
  s.host = host.host;
  s.host_ranks = host.ranks;
  s.onset_step = host.onset_step;
  verdict.share_of_steps = 1;
  judge_cost(c, verdict);
  verdict.decided_by = {
      fmt::format("{} slow {} {}; "
                  "their transfers take {:.2f} times as long as those of comparable groups",
                  host.groups, host.groups == 1 ? "group" : "groups",
                  host.host.empty() ? "have no single host in common that others do not use"
                                    : fmt::format("have only host {} in common", host.host),
                  host.ratio),
      fmt::format("on its slowest rank, transfers take {} per step longer than usual",
                  format_ms({host.excess_ns}))};
  verdict.refuted_by = {
      "a test of that host's interface alone (iperf, nccl-tests) at the usual bandwidth",
      "the same job on other hosts: if other groups are slow then, it is not the host"};
  return verdict;
}

// Transfers that became slower at one time, between hosts.
std::vector<const SlowerGroup*> at_once(const Comparison& c, const HostNumbers& hosts) {
  std::vector<const SlowerGroup*> onsets;
  const int64_t since = c.links->slower.front().transfers.step;  // with the largest loss
  for (const SlowerGroup& onset : c.links->slower) {
    if (static_cast<size_t>(std::abs(onset.transfers.step - since)) <= limit::kAtOnce &&
        hosts.of(onset.ranks).size() > 1)
      onsets.push_back(&onset);
  }
  return onsets;
}

// Transfer time beyond the previous level, per step from `since` on, on the rank with the largest
// loss.
double lost_by_transfers(const Comparison& c, std::span<const SlowerGroup* const> onsets,
                         int64_t since, int64_t steps) {
  using Flow = std::tuple<std::string_view, schema::Function, std::optional<int64_t>>;
  std::map<Flow, double> of_collectives;
  std::map<std::tuple<Flow, int, int>, double> of_messages;
  for (const SlowerGroup* onset : onsets) {
    const SlowTransfers& one = onset->transfers;
    const Flow flow{one.communicator, one.function, one.bytes};
    const auto excess = static_cast<double>(one.excess_ns);
    if (one.function == schema::Function::kSend && onset->ranks.size() == 2) {
      of_messages[{flow, onset->ranks.front(), onset->ranks.back()}] = excess;
    } else {
      of_collectives[flow] = excess;
    }
  }
  std::map<size_t, double> lost;  // by digest
  for (const Instance& instance : c.matching.instances) {
    if (!instance.comparable || instance.step.value_or(-1) < since) continue;
    const auto known = of_collectives.find(
        {c.matching.groups[instance.group].name, instance.function, instance.bytes});
    if (known == of_collectives.end()) continue;
    for (const Member& member : instance.members) lost[member.digest] += known->second;
  }
  const StepsByTime step_of(c.steps, std::span(c.steps.steps).first(c.steps.last_steady + 1),
                            c.digests.size());
  for (const Message& message : c.matching.messages) {
    if (of_messages.empty()) break;
    if (!message.from || !message.to || !message.send || !message.receive) continue;
    const auto known = of_messages.find(
        {Flow{c.matching.groups[message.group].name, schema::Function::kSend, message.bytes},
         *message.from, *message.to});
    if (known == of_messages.end()) continue;
    const std::optional<size_t> step = step_of.of(message, c.digests);
    if (!step || c.steps.steps[*step].index < since) continue;
    for (const Member& side : {*message.send, *message.receive}) lost[side.digest] += known->second;
  }
  double most = 0;
  for (const auto& [digest, ns] : lost) most = std::max(most, ns);
  return most / static_cast<double>(std::max<int64_t>(1, steps));
}

// The host that all transfers that became slower share, and the others do not.
std::optional<int> common_host(const Comparison& c, std::span<const SlowerGroup* const> onsets,
                               const HostNumbers& hosts) {
  std::set<std::vector<int>> slower;  // ranks
  for (const SlowerGroup* onset : onsets) slower.insert(onset->ranks);
  std::vector<GroupNodes> nodes;
  std::vector<size_t> slow;
  for (const std::vector<int>& ranks : slower) {
    slow.push_back(nodes.size());
    nodes.push_back({nodes.size(), hosts.of(ranks)});
  }
  for (const std::vector<int>& ranks : c.links->unchanged) {
    std::vector<int> of_those = hosts.of(ranks);
    if (of_those.size() > 1) nodes.push_back({nodes.size(), std::move(of_those)});
  }
  const Localised found = localise(nodes, slow);
  return found.certain.size() == 1 ? std::optional(found.certain.front()) : std::nullopt;
}

// The difference between the means of two ranges of steps.
Estimate difference_of(const std::vector<double>& before, const std::vector<double>& after) {
  const Estimate first = bootstrap_mean(before);
  const Estimate second = bootstrap_mean(after);
  return {second.value - first.value, std::hypot(first.half_width, second.half_width)};
}

// All links, or one used by every collective: transfers became slower at one step, and steps became
// longer by no more than that explains. nullopt: they did not, or there was another change.
std::optional<Verdict> slower_network(const Comparison& c) {
  if (c.links->slower.empty()) return std::nullopt;
  const HostNumbers hosts(c.traces);
  const std::vector<const SlowerGroup*> onsets = at_once(c, hosts);
  const int64_t since = c.links->slower.front().transfers.step;
  std::vector<double> before;
  std::vector<double> after;
  for (size_t s = std::min(kNeverSteady, c.steps.first_steady); s <= c.steps.last_steady; ++s) {
    const AlignedStep& step = c.steps.steps[s];
    (step.index < since ? before : after).push_back(static_cast<double>(step.longest_ns));
  }
  if (before.empty() || after.empty()) return std::nullopt;
  const Estimate lost = difference_of(before, after);
  const double by_transfers =
      lost_by_transfers(c, onsets, since, static_cast<int64_t>(after.size()));
  if (lost.value <= lost.half_width || by_transfers < limit::kExplained * lost.value)
    return std::nullopt;
  const auto steady = static_cast<double>(c.steps.steady().size());
  const auto slower = static_cast<double>(std::ranges::count_if(
      c.steps.steady(), [&](const AlignedStep& step) { return step.index >= since; }));
  Verdict verdict;
  verdict.share_of_steps = slower / steady;
  Straggler& s = verdict.straggler;
  s.cost_ns = std::llround(std::min(lost.value, by_transfers) * verdict.share_of_steps);
  s.bound_ns = std::llround(lost.half_width * verdict.share_of_steps);
  s.n = static_cast<int64_t>(steady);
  s.confidence = kAnywhere;
  s.onset_step = since;
  const std::optional<int> host = common_host(c, onsets, hosts);
  if (host) {
    s.host = hosts.name(*host);
    s.host_ranks = hosts.ranks_on(*host);
    s.rank = s.host_ranks.front();
    s.confidence = kOneGroup;
  }
  judge_cost(c, verdict);
  verdict.decided_by = {
      fmt::format(
          "from step {} on transfers between hosts take {} per step longer than before, and steps {} ± {}",
          since, format_ms({std::llround(by_transfers)}), format_ms({std::llround(lost.value)}),
          format_ms({std::llround(lost.half_width)})),
      host ? fmt::format("those that became slower have only host {} in common, and those that did "
                         "not have not",
                         s.host)
           : "all of them pass the same links, so the slow one cannot be identified"};
  verdict.refuted_by = {
      "a bandwidth test between all pairs of hosts (iperf, nccl-tests) that is as fast as before",
      "other work on the hosts' cores since that step: with TCP it also slows transfers"};
  return verdict;
}

}  // namespace

std::vector<Verdict> network_verdicts(const Comparison& comparison) {
  std::vector<Verdict> verdicts;
  if (comparison.links == nullptr) return verdicts;
  for (const SlowHost& host : comparison.links->links.hosts)
    verdicts.push_back(verdict_of(comparison, host));
  if (!verdicts.empty()) return verdicts;
  if (std::optional<Verdict> verdict = slower_network(comparison)) {
    verdicts.push_back(*std::move(verdict));
  } else if (comparison.links->somewhere) {
    verdicts.push_back(verdict_of(comparison, *comparison.links->somewhere));
  }
  return verdicts;
}

}  // namespace dprof::analyzer
