// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kOneGroup = 0.6;  // confidence: of one slow group, and of several
constexpr double kSeveralGroups = 0.85;
constexpr double kAnywhere = 0.5;   // where nothing tells whose link it is
constexpr int64_t kAtOnce = 2;      // steps within which transfers became slower at one time
constexpr double kExplained = 0.6;  // of what steps lost, that transfers lost
constexpr size_t kNeverSteady = 2;  // the first steps of a run

// What all verdicts on the network say, and whether the cost is one.
void judge_cost(const Comparison& c, Verdict& verdict) {
  Straggler& s = verdict.straggler;
  s.shape = "persistent";
  s.cause = "network";
  verdict.step_ns = std::max<int64_t>(0, c.steps.info.median_ns - s.cost_ns);
  verdict.kind = "transfers";
  const double median = static_cast<double>(std::max<int64_t>(1, c.steps.info.median_ns));
  verdict.named = static_cast<double>(s.cost_ns) / median >= straggler_floor(c.steps.ranks.size());
}

Verdict verdict_of(const Comparison& c, const SlowHost& host) {
  Verdict verdict;
  Straggler& s = verdict.straggler;
  if (!host.ranks.empty()) s.rank = host.ranks.front();
  s.cost_ns = host.excess_ns;
  s.n = static_cast<int64_t>(c.steps.steady().size());
  s.confidence = host.groups > 1 ? kSeveralGroups : kOneGroup;
  s.host = host.host;
  s.host_ranks = host.ranks;
  s.onset_step = host.onset_step;
  verdict.share_of_steps = 1;
  judge_cost(c, verdict);
  verdict.decided_by = {
      fmt::format("{} slow {} have only host {} in common; "
                  "their transfers take {:.2f} times as long as those of comparable groups",
                  host.groups, host.groups == 1 ? "group" : "groups", host.host, host.ratio),
      fmt::format("on its slowest rank, transfers take {} per step longer than usual",
                  format_ms({host.excess_ns}))};
  verdict.refuted_by = {
      "a test of that host's interface alone (iperf, nccl-tests) at the usual bandwidth",
      "the same job on other hosts: if other groups are slow then, it is not the host"};
  return verdict;
}

// Whether a communicator reaches over several hosts.
bool leaves_its_host(const Comparison& c, const Group& group) {
  std::set<std::string> hosts;
  for (const size_t digest : group.digests) {
    if (digest < c.traces.size()) hosts.insert(c.traces[digest].host);
  }
  return hosts.size() > 1;
}

// What collectives took beyond what they had taken before, per step from `since` on, on the rank
// that has most of it.
double lost_by_transfers(const Comparison& c, std::span<const SlowTransfers> onsets, int64_t since,
                         int64_t steps) {
  std::map<size_t, double> lost;  // by digest
  for (const Instance& instance : c.matching.instances) {
    if (!instance.comparable || instance.step.value_or(-1) < since) continue;
    const Group& group = c.matching.groups[instance.group];
    for (const SlowTransfers& onset : onsets) {
      if (onset.communicator != group.name || onset.function != instance.function ||
          onset.bytes != instance.bytes || std::abs(onset.step - since) > kAtOnce ||
          !leaves_its_host(c, group))
        continue;
      for (const Member& member : instance.members)
        lost[member.digest] += static_cast<double>(onset.excess_ns);
    }
  }
  double most = 0;
  for (const auto& [digest, ns] : lost) most = std::max(most, ns);
  return most / static_cast<double>(std::max<int64_t>(1, steps));
}

// The mean of two stretches of steps, and what is between them.
Estimate difference_of(const std::vector<double>& before, const std::vector<double>& after) {
  const Estimate first = bootstrap_mean(before);
  const Estimate second = bootstrap_mean(after);
  return {second.value - first.value, std::hypot(first.half_width, second.half_width)};
}

// All links, or one that every collective passes: transfers became slower at one step and steps
// longer by no more than that explains. nullopt: they did not, or something else did as well.
std::optional<Verdict> slower_network(const Comparison& c) {
  const std::vector<SlowTransfers>& onsets = c.slow_links->onsets;
  if (onsets.empty() || !c.slow_links->groups.empty()) return std::nullopt;
  const int64_t since = onsets.front().step;  // that which lost most
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
  if (lost.value <= lost.half_width || by_transfers < kExplained * lost.value) return std::nullopt;
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
  judge_cost(c, verdict);
  verdict.decided_by = {
      fmt::format(
          "from step {} on transfers between hosts take {} per step longer than before, and steps {} ± {}",
          since, format_ms({std::llround(by_transfers)}), format_ms({std::llround(lost.value)}),
          format_ms({std::llround(lost.half_width)})),
      "every collective passes every link, so the slow one cannot be identified"};
  verdict.refuted_by = {
      "a bandwidth test between all pairs of hosts (iperf, nccl-tests) that is as fast as before",
      "other work on the hosts' cores since that step: with TCP it also slows transfers"};
  return verdict;
}

}  // namespace

std::vector<Verdict> network_verdicts(const Comparison& comparison) {
  std::vector<Verdict> verdicts;
  if (comparison.slow_links == nullptr) return verdicts;
  for (const SlowHost& host : comparison.slow_links->hosts)
    verdicts.push_back(verdict_of(comparison, host));
  if (std::optional<Verdict> verdict = slower_network(comparison))
    verdicts.push_back(*std::move(verdict));
  return verdicts;
}

}  // namespace dprof::analyzer
