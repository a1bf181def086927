// SPDX-License-Identifier: Apache-2.0
// Problems that make the analysis itself less certain. None of them costs training time.
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

const std::vector<Evidence> kNoRows;

std::optional<Measured> lost_records_rule(const RuleInput& input) {
  const Recording& recording = input.report.recording;
  const int64_t count = lost_records(recording);
  if (count == 0) return {};
  const double share = ratio(count, std::max<int64_t>(1, count + recording.events));
  Measured measured{
      .figures = {{"lost", format_count(count)}, {"recorded", format_count(recording.events)}},
      .evidence = kNoRows,
      .severity = share >= kInfoShare ? kWarn : kInfo};
  for (const Loss& loss : recording.lost) {
    if (is_lost(loss.reason) && std::ranges::count(measured.ranks, loss.rank) == 0)
      measured.ranks.push_back(loss.rank);
  }
  return measured;
}

constexpr Rule kLostRecords = {
    .name = "hygiene.lost-records",
    .finds = "table `loss` has rows",
    .costs = "warn from 1 % of all records, else info",
    .guard = "nothing was lost; rows that an importer does not use do not count",
    .advice = "record less: --detail light, or only some steps with --steps A:B",
    .title = "{lost} records were lost",
    .detail = "every figure that needs them is too small",
    .decided_by = {"table `loss`: {lost} lost, {recorded} recorded"},
    .refuted_by = {"nothing: the recorder counted them"},
    .measure = lost_records_rule};

// Median over collectives of the longest wait of a rank.
int64_t median_lateness(const Report& report) {
  std::vector<int64_t> waits;
  if (!report.collectives) return 0;
  for (const CollectiveSummary& c : *report.collectives) {
    if (c.per_step.value_or(0) > 0) waits.push_back(c.wait_ns);
  }
  return median_ns(std::move(waits));
}

std::optional<Measured> clock_uncertain(const RuleInput& input) {
  if (!input.report.clock || input.report.clock->hosts.size() < 2) return {};
  const HostClock* worst = &input.report.clock->hosts.front();
  for (const HostClock& host : input.report.clock->hosts) {
    if (!host.bound_ns || (worst->bound_ns && *host.bound_ns > *worst->bound_ns)) worst = &host;
  }
  const int64_t lateness = median_lateness(input.report);
  if (lateness <= 0) return {};
  if (worst->bound_ns && ratio(*worst->bound_ns, lateness) <= kClockShare) return {};
  return Measured{.figures = {{"host", worst->host},
                              {"bound", worst->bound_ns ? format_duration({*worst->bound_ns})
                                                        : std::string("no bound")},
                              {"lateness", format_duration({lateness})},
                              {"method", worst->method},
                              {"probes", worst->probes}}};
}

constexpr Rule kClockUncertain = {
    .name = "hygiene.clock-uncertain",
    .finds = "the bound of a host's clock exceeds a tenth of the median lateness in collectives",
    .costs = "info",
    .guard = "one host; no collective in the steps",
    .advice =
        "let the recorders probe each other (same run folder, or --meet HOST:PORT) for longer; "
        "or run PTP between the hosts",
    .title =
        "the clock of {host} is uncertain by {bound}, while ranks are late by {lateness} (median)",
    .detail =
        "figures that compare two hosts' clocks (messages, broadcasts, who was last) are no more precise than that. "
        "Waits in all-reduces come from durations and are not affected",
    .decided_by = {"method: {method}, {probes} probes"},
    .refuted_by = {"nothing: this is the alignment's own bound"},
    .measure = clock_uncertain};

std::optional<Measured> profiler_overhead(const RuleInput& input) {
  const std::optional<Overhead>& overhead = input.report.recording.overhead;
  if (!overhead || !overhead->share || *overhead->share <= kOverheadShare) return {};
  Measured measured{.figures = {{"share", format_share(*overhead->share)}, {"how", overhead->how}}};
  if (const int64_t step = median_step(input); step > 0) {
    measured.cost_ns = static_cast<int64_t>(*overhead->share * static_cast<double>(step));
  } else {
    measured.severity = kWarn;
  }
  return measured;
}

constexpr Rule kProfilerOverhead = {
    .name = "hygiene.profiler-overhead",
    .finds = "the recorder's own estimate of its cost is above 3 % of the time",
    .costs = "that share of the step",
    .guard = "the cost was not measured",
    .advice =
        "record at --detail light, set --max-overhead 1%, or record only some steps (--steps A:B)",
    .judged = {.confidence = 0.8},
    .title = "recording took {share} of the time",
    .detail = "this run's figures include it; the job without dprof does not pay it",
    .decided_by = {"{how}"},
    .refuted_by = {"a run without the recorder whose steps take just as long"},
    .measure = profiler_overhead};

std::optional<Measured> replay_refused(const RuleInput& input) {
  const std::optional<Replay>& replay = input.report.replay;
  if (!replay || replay->accepted) return {};
  return Measured{
      .figures = {{"error", format_share(std::max(replay->error(), replay->unexplained))},
                  {"why", replay->refused},
                  {"unexplained", format_share(replay->unexplained)},
                  {"steps", replay->steps}}};
}

constexpr Rule kReplayRefused = {
    .name = "hygiene.replay-refused",
    .finds =
        "the replay is off by more than 5 %, for the unchanged run or for steps that it was not fitted to; or 20 % of a step has no recorded cause",
    .costs = "info",
    .guard = "nothing was replayed",
    .advice = "record with --detail full, which shows the replay what waits for what",
    .title = "replaying this run is off by {error} of a step: no predictions are made",
    .detail =
        "costs marked as upper bounds remain valid; "
        "{unexplained} of a step is delay without a recorded cause",
    .decided_by = {"the recorded run replayed, over {steps} steps", "{why}"},
    .refuted_by = {"nothing: this is the replay's own error"},
    .measure = replay_refused};

std::optional<Measured> few_steps(const RuleInput& input) {
  const int64_t steady = steady_steps(input);
  if (!input.report.run.steps || steady >= kFewestHygieneSteps) return {};
  const StepsInfo& steps = *input.report.run.steps;
  return Measured{
      .figures = {
          {"steady", steady == 1 ? "1 steady step" : fmt::format("{} steady steps", steady)},
          {"count", steps.count == 1 ? "1 step was" : fmt::format("{} steps were", steps.count)},
          {"first", steps.first_steady},
          {"last", steps.last_steady}}};
}

constexpr Rule kFewSteps = {
    .name = "hygiene.few-steps",
    .finds = "fewer than 5 steady steps",
    .costs = "info",
    .guard = "no steps at all: a diagnostic says so",
    .suppressed_by = "startup.failed, comm.unfinished-reduction, comm.hang",
    .advice = "record at least 20 steps",
    .title = "only {steady}",
    .detail = "{count} recorded: occasional problems are missed, and means are imprecise",
    .decided_by = {"steps {first} to {last} are steady"},
    .refuted_by = {"nothing: they were counted"},
    .measure = few_steps};

// A different model, size or generation of GPU from that of most ranks.
std::optional<Measured> mixed_devices(const RuleInput& input) {
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
  Measured measured{.evidence = kNoRows};
  std::string words;
  for (const auto& [model, ranks] : models) {
    const std::vector<int> list(ranks.begin(), ranks.end());
    words += fmt::format("{}{} ({})", words.empty() ? "" : "; ", model, list_of(list));
    if (model != usual->first)
      measured.ranks.insert(measured.ranks.end(), list.begin(), list.end());
  }
  std::ranges::sort(measured.ranks);
  measured.figures = {{"kinds", models.size()}, {"models", words}};
  return measured;
}

constexpr Rule kMixedDevices = {.name = "hygiene.mixed-devices",
                                .finds = "ranks compute on GPUs of different models or sizes",
                                .costs = "info; balance.straggler has the cost",
                                .guard = "the devices' names were not recorded",
                                .advice = "use identical devices, or divide the data by speed",
                                .judged = {.cause = "device"},
                                .title = "{kinds} kinds of GPU in one job",
                                .detail = "{models}",
                                .decided_by = {"names and sizes of the devices that ran kernels"},
                                .refuted_by = {"nothing: the driver reports them"},
                                .measure = mixed_devices};

constexpr Rule kAffinity = {
    .name = "hygiene.affinity",
    .finds = "the launching thread runs on a core that is far from its GPU or network card",
    .costs = "info",
    .guard = "one NUMA node",
    .advice = "bind the rank with numactl --cpunodebind or the launcher's option",
    .needs =
        "two things, neither of which is sampled: "
        "the core that the launching thread last ran on (field 39 of /proc/PID/task/TID/stat), and the NUMA node of its GPU and network card (numa_node of the PCI device in /sys; "
        "the trace knows a GPU by its UUID, which leads to no PCI address). "
        "The run-queue delay, which is sampled, does not distinguish a far core from a near one"};

}  // namespace

std::vector<Rule> hygiene_rules() {
  return {kLostRecords, kClockUncertain, kProfilerOverhead, kReplayRefused,
          kFewSteps,    kMixedDevices,   kAffinity};
}

}  // namespace dprof::analyzer
