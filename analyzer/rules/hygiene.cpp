// SPDX-License-Identifier: Apache-2.0
// What makes the analysis itself less sure. None of these costs the training time.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/rules/rule.h"
#include "analyzer/rules/support.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kClockShare = 0.1;  // of the median lateness
constexpr double kOverheadShare = 0.03;
constexpr int64_t kFewestHygieneSteps = 5;

std::vector<Finding> lost_records_rule(const RuleInput& input) {
  const Recording& recording = input.report.recording;
  const int64_t count = lost_records(recording);
  if (count == 0) return {};
  const auto all = static_cast<double>(std::max<int64_t>(1, count + recording.events));
  Finding finding =
      unpriced(static_cast<double>(count) / all >= kInfoShare ? FindingSeverity::kWarn
                                                              : FindingSeverity::kInfo,
               1, "unknown");
  for (const Loss& loss : recording.lost) {
    if (is_lost(loss.reason) && std::ranges::count(finding.ranks, loss.rank) == 0)
      finding.ranks.push_back(loss.rank);
  }
  finding.title = fmt::format("{} records were lost", format_count(count));
  finding.detail = "what they would have shown is missing from every figure";
  finding.decided_by = {fmt::format("table `loss`: {} lost, {} recorded", format_count(count),
                                    format_count(recording.events))};
  finding.refuted_by = {"nothing: the recorder counted them"};
  return {std::move(finding)};
}

// Median over collectives of the wait of the rank that waited longest.
int64_t median_lateness(const Report& report) {
  std::vector<int64_t> waits;
  if (!report.collectives) return 0;
  for (const CollectiveSummary& c : *report.collectives) {
    if (c.per_step.value_or(0) > 0) waits.push_back(c.wait_ns);
  }
  return median_ns(std::move(waits));
}

std::vector<Finding> clock_uncertain(const RuleInput& input) {
  if (!input.report.clock || input.report.clock->hosts.size() < 2) return {};
  const HostClock* worst = &input.report.clock->hosts.front();
  for (const HostClock& host : input.report.clock->hosts) {
    if (!host.bound_ns || (worst->bound_ns && *host.bound_ns > *worst->bound_ns)) worst = &host;
  }
  const int64_t lateness = median_lateness(input.report);
  if (lateness <= 0) return {};
  const bool unknown = !worst->bound_ns;
  if (!unknown &&
      static_cast<double>(*worst->bound_ns) <= kClockShare * static_cast<double>(lateness)) {
    return {};
  }
  Finding finding = unpriced(FindingSeverity::kInfo, 1, "unknown");
  finding.title =
      fmt::format("the clock of {} is known to {}, ranks are late by {} in the median", worst->host,
                  unknown ? std::string("no bound") : format_duration({*worst->bound_ns}),
                  format_duration({lateness}));
  finding.detail =
      "figures that compare two hosts' clocks are no sharper than that: messages, broadcasts, who was last. "
      "Waits in all-reduces come from durations, and are not touched";
  finding.decided_by = {fmt::format("method: {}, {} probes", worst->method, worst->probes)};
  finding.refuted_by = {"nothing: it is what the alignment says of itself"};
  return {std::move(finding)};
}

std::vector<Finding> profiler_overhead(const RuleInput& input) {
  const std::optional<Overhead>& overhead = input.report.recording.overhead;
  if (!overhead || !overhead->share || *overhead->share <= kOverheadShare) return {};
  const auto cost =
      static_cast<int64_t>(*overhead->share * static_cast<double>(median_step(input)));
  Finding finding = median_step(input) > 0 ? priced(input, cost, 0.8, "unknown")
                                           : unpriced(FindingSeverity::kWarn, 0.8, "unknown");
  finding.title =
      fmt::format("the recording itself took {} of the time", format_share(*overhead->share));
  finding.detail = "it is in the figures of this run, and not in those of the job without dprof";
  finding.decided_by = {overhead->how};
  finding.refuted_by = {"a run without the recorder whose steps are as long"};
  return {std::move(finding)};
}

std::vector<Finding> replay_refused(const RuleInput& input) {
  const std::optional<Replay>& replay = input.report.replay;
  if (!replay || replay->accepted) return {};
  Finding finding = unpriced(FindingSeverity::kInfo, 1, "unknown");
  finding.title = fmt::format("the replay of this run is off by {} of a step: nothing is predicted",
                              format_share(replay->identity_error));
  finding.detail = fmt::format(
      "costs that are said to be upper bounds are not made sharper; "
      "{} of the step is in lags that no recorded cause explains",
      format_share(replay->unexplained));
  finding.decided_by = {
      fmt::format("the recorded run replayed unchanged, over {} steps", replay->steps)};
  finding.refuted_by = {"nothing: it is what the replay says of itself"};
  return {std::move(finding)};
}

std::vector<Finding> few_steps(const RuleInput& input) {
  const int64_t steps = steady_steps(input);
  if (!input.report.run.steps || steps >= kFewestHygieneSteps) return {};
  Finding finding = unpriced(FindingSeverity::kInfo, 1, "unknown");
  finding.title = fmt::format("{} steady step{} only", steps, steps == 1 ? "" : "s");
  finding.detail = fmt::format(
      "of {} that were recorded; what comes now and then is not seen, and means are not sharp",
      input.report.run.steps->count);
  finding.decided_by = {fmt::format("steps {} to {} are steady",
                                    input.report.run.steps->first_steady,
                                    input.report.run.steps->last_steady)};
  finding.refuted_by = {"nothing: they were counted"};
  return {std::move(finding)};
}

// Another model, another size or another generation of GPU than most ranks have.
std::vector<Finding> mixed_devices(const RuleInput& input) {
  std::map<std::string, std::set<int>> models;
  for (const RankDigest& digest : input.digests) {
    for (const DeviceFact& device : digest.facts.devices) {
      if (device.kernels <= 0 || device.model.empty()) continue;
      const std::string memory =
          device.memory_bytes ? fmt::format(", {}", format_bytes(*device.memory_bytes)) : "";
      models[device.model + memory].insert(digest.rank);
    }
  }
  if (models.size() < 2) return {};
  const auto usual =
      std::ranges::max_element(models, {}, [](const auto& entry) { return entry.second.size(); });
  Finding finding = unpriced(FindingSeverity::kInfo, 1, "device");
  std::string words;
  for (const auto& [model, ranks] : models) {
    const std::vector<int> list(ranks.begin(), ranks.end());
    words += fmt::format("{}{} ({})", words.empty() ? "" : "; ", model, list_of(list));
    if (model != usual->first) finding.ranks.insert(finding.ranks.end(), list.begin(), list.end());
  }
  std::ranges::sort(finding.ranks);
  finding.title = fmt::format("{} kinds of GPU in one job", models.size());
  finding.detail = words;
  finding.decided_by = {"names and sizes of the devices that have kernels of this run"};
  finding.refuted_by = {"nothing: the driver says so"};
  return {std::move(finding)};
}

constexpr Rule kHygieneRules[] = {
    {.name = "hygiene.lost-records",
     .finds = "table `loss` has rows",
     .severity = "warn from 1 % of all records on, else info",
     .guard = "nothing was lost; what an importer had no use for does not count",
     .suppressed_by = "",
     .advice = "record less: --detail light, or only some steps with --steps A:B",
     .detect = lost_records_rule},
    {.name = "hygiene.clock-uncertain",
     .finds =
         "a host's clock is known less well than a tenth of the median lateness in collectives",
     .severity = "info",
     .guard = "one host; no collective in the steps",
     .suppressed_by = "",
     .advice = "let the recorders probe each other (same run folder, or --meet HOST:PORT), longer; "
               "PTP between the hosts",
     .detect = clock_uncertain},
    {.name = "hygiene.profiler-overhead",
     .finds = "the recorder's own estimate of its cost is above 3 % of the time",
     .severity = "that share of the step",
     .guard = "the cost was not measured",
     .suppressed_by = "",
     .advice = "--detail light, --max-overhead 1%, or some steps only (--steps A:B)",
     .detect = profiler_overhead},
    {.name = "hygiene.replay-refused",
     .finds = "replaying the recorded run unchanged is off by more than 5 %",
     .severity = "info",
     .guard = "nothing was replayed",
     .suppressed_by = "",
     .advice = "more detail (--detail full) tells the replay what waits for what",
     .detect = replay_refused},
    {.name = "hygiene.few-steps",
     .finds = "fewer than 5 steady steps",
     .severity = "info",
     .guard = "no steps at all: a diagnostic says so",
     .suppressed_by = "startup.failed, comm.unfinished-reduction, comm.hang",
     .advice = "record at least 20 steps",
     .detect = few_steps},
    {.name = "hygiene.mixed-devices",
     .finds = "ranks compute on GPUs of different models or sizes",
     .severity = "info; what it costs the straggler's finding says",
     .guard = "the devices' names were not recorded",
     .suppressed_by = "",
     .advice = "equal devices, or shares of the data by their speed",
     .detect = mixed_devices},
    {.name = "hygiene.affinity",
     .finds = "the launching thread runs on a core that is far from its GPU or network card",
     .severity = "info",
     .guard = "one NUMA node",
     .suppressed_by = "",
     .advice = "numactl --cpunodebind, or the launcher's binding",
     .needs =
         "two things, neither of which is sampled: "
         "the core that the launching thread last ran on (field 39 of /proc/PID/task/TID/stat), and the NUMA node of its GPU and network card (numa_node of the PCI device in /sys; "
         "the trace knows a GPU by its UUID, which leads to no PCI address). "
         "The run-queue delay, which is sampled, does not tell a far core from a near one"},
};

}  // namespace

std::span<const Rule> hygiene_rules() { return kHygieneRules; }

}  // namespace dprof::analyzer
