// SPDX-License-Identifier: Apache-2.0
// What keeps the device waiting for its host: synchronisation, launches, debugging modes.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/rules/facts_support.h"
#include "analyzer/rules/rule.h"
#include "analyzer/rules/support.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kHostEachStep = 0.9;  // calls per step: one in nearly each
constexpr double kLaunchBoundShare = 0.10;
constexpr double kShortKernelNs = 20'000;
constexpr double kShortLagNs = 30'000;  // from launch to begin: nothing stands in the queue
constexpr int64_t kFewestKernels = 100;
constexpr int64_t kFewestHostSampled = 32;
constexpr double kAlmostAll = 0.95;
constexpr double kChecksPerNode = 0.5;
constexpr int64_t kFewestChecks = 10;
constexpr double kUnfusedShare = 0.05;
constexpr double kManyLaunches = 500;
constexpr double kLaunchesPerTensor = 5;
constexpr double kFillShare = 0.005;
constexpr double kBackwardShare = 0.03;

// Sum of two figures of the same ranks.
std::vector<TimeOfRank> sum_of(std::vector<TimeOfRank> a, const std::vector<TimeOfRank>& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) a[i].ns += b[i].ns;
  return a;
}

void keep(std::vector<TimeOfRank>& times, std::span<const int> ranks) {
  std::erase_if(times, [&](const TimeOfRank& t) { return std::ranges::count(ranks, t.rank) == 0; });
}

bool worth_a_line(const RuleInput& input, int64_t ns, double share) {
  return ns > 0 && share_of(input, ns) >= share;
}

// The device idles after the host has waited for it: the price of such calls.
struct Waiting {
  CallKind kind{};
  std::string_view one;  // "waits for the device"
  std::string_view several;
};

std::vector<Finding> synchronising(const RuleInput& input, const Waiting& waiting) {
  const CallingRanks callers = callers_of(input, waiting.kind, kHostEachStep);
  std::vector<TimeOfRank> bubbles = times_of(input, Category::kSyncBubble);
  keep(bubbles, callers.ranks);
  std::erase_if(bubbles,
                [&](const TimeOfRank& t) { return !worth_a_line(input, t.ns, kInfoShare); });
  if (!has_gpu(input) || bubbles.empty()) return {};
  const int64_t cost = lower_median(bubbles);
  Finding finding = priced(input, cost, 0.7, "synchronisation");
  for (const TimeOfRank& bubble : bubbles) finding.ranks.push_back(bubble.rank);
  finding.title = fmt::format("{} in each step: the device runs dry for {}",
                              who_does(input, finding.ranks, waiting.one, waiting.several),
                              per_step(input, cost));
  finding.detail = fmt::format(
      "{} such calls per step, in which the host waits {}; "
      "the cost is the time in which the device then had nothing to do",
      number(callers.per_step), ms(callers.ns));
  finding.evidence = call_evidence(input, finding.ranks, waiting.kind);
  finding.decided_by = {
      fmt::format("{} calls per steady step, median over {} ranks", number(callers.per_step),
                  callers.ranks.size()),
      fmt::format("idle time of the device that such a call caused: {} per step", ms(cost))};
  finding.refuted_by = {"a run without these calls that is as slow"};
  return {std::move(finding)};
}

// Of both kinds the one that holds the host longer is the cause.
bool device_waits_prevail(const RuleInput& input) {
  const CallingRanks device = callers_of(input, CallKind::kDeviceSync, kHostEachStep);
  return !device.ranks.empty() &&
         device.ns >= callers_of(input, CallKind::kStreamSync, kHostEachStep).ns;
}

std::vector<Finding> sync_per_step(const RuleInput& input) {
  if (device_waits_prevail(input)) return {};
  std::vector<Finding> findings =
      synchronising(input, {CallKind::kStreamSync, "waits for the device", "wait for the device"});
  if (findings.empty())
    findings =
        synchronising(input, {CallKind::kBlockingCopy, "waits for copies", "wait for copies"});
  const CallingRanks items = callers_of(input, CallKind::kItem, kHostEachStep);
  for (Finding& finding : findings) {
    if (items.ranks.empty()) continue;
    finding.decided_by.push_back(
        fmt::format("a tensor's value is read {} times per step (.item(), or what does the same)",
                    number(items.per_step)));
    for (Evidence& shown : call_evidence(input, items.ranks, CallKind::kItem)) {
      if (finding.evidence.size() < 8) finding.evidence.push_back(std::move(shown));
    }
  }
  return findings;
}

std::vector<Finding> device_synchronize(const RuleInput& input) {
  if (!device_waits_prevail(input)) return {};
  return synchronising(
      input, {CallKind::kDeviceSync, "waits for the whole device", "wait for the whole device"});
}

// The ranks' kernels together.
LogHistogram all_of(std::span<const RankDigest> digests, LogHistogram Facts::*which) {
  LogHistogram all;
  for (const RankDigest& digest : digests) all.merge(digest.facts.*which);
  return all;
}

std::vector<Finding> launch_bound(const RuleInput& input) {
  const LogHistogram lengths = all_of(input.digests, &Facts::kernel_ns);
  const LogHistogram lags = all_of(input.digests, &Facts::start_lag_ns);
  if (lengths.count() < kFewestKernels || lags.count() < kFewestHostSampled) return {};
  const double length = lengths.quantile(0.5);
  const double lag = lags.quantile(0.5);
  if (length >= kShortKernelNs || lag >= kShortLagNs) return {};
  const std::vector<TimeOfRank> starved =
      sum_of(times_of(input, Category::kHost), times_of(input, Category::kLaunch));
  const int64_t cost = lower_median(starved);
  if (!worth_a_line(input, cost, kLaunchBoundShare)) return {};
  Finding finding = priced(input, cost, 0.7, "host");
  for (const TimeOfRank& time : starved) finding.ranks.push_back(time.rank);
  finding.title = fmt::format("the device waits for launches: {}, between short kernels",
                              per_step(input, cost));
  finding.detail = fmt::format("half of the kernels are shorter than {}; {}",
                               format_duration({static_cast<int64_t>(length)}), kUpperBound);
  finding.evidence = steps_evidence(input, finding.ranks);
  finding.decided_by = {
      fmt::format("the device idles {} of a step for want of work", ms(cost)),
      fmt::format("the median kernel takes {}", format_duration({static_cast<int64_t>(length)})),
      fmt::format("half of the kernels begin within {} of their launch: the queue is empty",
                  format_duration({static_cast<int64_t>(lag)}))};
  finding.refuted_by = {"a run under a CUDA graph that is as slow"};
  return {std::move(finding)};
}

// A launch that returns when its kernel is done: CUDA_LAUNCH_BLOCKING. Checks of each gradient:
// anomaly detection.
std::vector<Finding> debug_mode(const RuleInput& input) {
  std::vector<int> blocking;
  std::vector<int> checking;
  std::string launches;
  std::string checks;
  for (const RankDigest& digest : input.digests) {
    const Facts& facts = digest.facts;
    if (facts.launches_sampled >= kFewestHostSampled &&
        static_cast<double>(facts.launches_until_done) >=
            kAlmostAll * static_cast<double>(facts.launches_sampled)) {
      blocking.push_back(digest.rank);
      launches =
          fmt::format("{} of {} sampled launches on rank {} returned only after their kernel",
                      facts.launches_until_done, facts.launches_sampled, digest.rank);
    }
    const int64_t nan = facts.of(CallKind::kNanCheck).count;
    if (nan >= kFewestChecks && facts.autograd_nodes > 0 &&
        static_cast<double>(nan) >= kChecksPerNode * static_cast<double>(facts.autograd_nodes)) {
      checking.push_back(digest.rank);
      checks = fmt::format("{} calls of aten::isnan for {} autograd nodes on rank {}", nan,
                           facts.autograd_nodes, digest.rank);
    }
  }
  std::vector<Finding> findings;
  if (!blocking.empty()) {
    std::vector<TimeOfRank> starved =
        sum_of(sum_of(times_of(input, Category::kHost), times_of(input, Category::kLaunch)),
               times_of(input, Category::kSyncBubble));
    keep(starved, blocking);
    Finding finding = priced(input, lower_median(starved), 0.9, "host");
    finding.severity = std::max(finding.severity, FindingSeverity::kWarn);
    finding.ranks = blocking;
    finding.title = fmt::format("{} with CUDA_LAUNCH_BLOCKING: {}",
                                who_does(input, blocking, "launches", "launch"),
                                per_step(input, *finding.cost_ns));
    finding.detail = "each launch waits for its kernel, so that nothing is ever queued";
    finding.advice = "unset CUDA_LAUNCH_BLOCKING: it is for finding the launch that failed";
    finding.evidence = steps_evidence(input, blocking);
    finding.decided_by = {launches};
    finding.refuted_by = {"CUDA_LAUNCH_BLOCKING is not set in the environment of the ranks"};
    findings.push_back(std::move(finding));
  }
  if (!checking.empty()) {
    Finding finding = unpriced(FindingSeverity::kWarn, 0.9, "host");
    const CallingRanks callers = callers_of(input, CallKind::kNanCheck, 1);
    if (callers.ns > 0) finding.cost_ns = callers.ns;
    finding.ranks = checking;
    finding.title = fmt::format("{} at each gradient for NaN: anomaly detection is on",
                                who_does(input, checking, "looks", "look"));
    finding.detail = "each autograd node is followed by a check that waits for its result";
    finding.advice =
        "remove torch.autograd.set_detect_anomaly(True) where nothing is being debugged";
    finding.evidence = call_evidence(input, checking, CallKind::kNanCheck);
    finding.decided_by = {checks};
    finding.refuted_by = {"the model itself calls isnan on what it computes"};
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::vector<Finding> unfused_optimizer(const RuleInput& input) {
  const std::vector<TimeOfRank> all =
      sum_of(times_of(input, Category::kOptimizer), times_of(input, "host.optimizer"));
  std::vector<TimeOfRank> costs;
  double most = 0;
  std::optional<int64_t> tensors;
  for (const TimeOfRank& time : all) {
    const RankDigest* digest = digest_of(input, time.rank);
    if (digest == nullptr || digest->facts.optimizer_phases == 0) continue;
    const double launches = static_cast<double>(digest->facts.optimizer_launches) /
                            static_cast<double>(digest->facts.optimizer_phases);
    const auto known = digest->facts.parameter_tensors;
    const bool per_tensor =
        known && *known > 0 && launches > kLaunchesPerTensor * static_cast<double>(*known);
    if (launches <= kManyLaunches && !per_tensor) continue;
    most = std::max(most, launches);
    if (known) tensors = known;
    costs.push_back(time);
  }
  const int64_t cost = lower_median(costs);
  if (!worth_a_line(input, cost, kUnfusedShare)) return {};
  Finding finding = priced(input, cost, 0.5, "compute");
  for (const TimeOfRank& time : costs) finding.ranks.push_back(time.rank);
  finding.title = fmt::format("the optimizer launches {} kernels per update: {}", number(most),
                              per_step(input, cost));
  finding.detail = fmt::format(
      "{}the cost is all of the optimizer's time, {}",
      tensors ? fmt::format("the model has {} parameter tensors; ", *tensors) : std::string(),
      kUpperBound);
  finding.evidence = evidence_of(input, finding.ranks, schema::Marker::kOptimizer);
  finding.decided_by = {fmt::format("{} launches in an optimizer phase, in the mean", number(most)),
                        fmt::format("the optimizer takes {} of a step", ms(cost))};
  finding.refuted_by = {"a run with a fused or foreach optimizer that is as slow"};
  return {std::move(finding)};
}

std::vector<Finding> zero_grad_fills(const RuleInput& input) {
  std::vector<TimeOfRank> costs = times_of_kernels(input, KernelClass::kFill);
  double fills = 0;
  std::erase_if(costs, [&](const TimeOfRank& time) {
    const Facts& facts = digest_of(input, time.rank)->facts;
    if (facts.optimizer_phases == 0 || facts.parameter_tensors.value_or(0) <= 0) return true;
    const double per_update = static_cast<double>(facts.of(KernelClass::kFill).count) /
                              static_cast<double>(facts.optimizer_phases);
    fills = std::max(fills, per_update);
    return per_update < kHostEachStep * static_cast<double>(*facts.parameter_tensors);
  });
  const int64_t cost = lower_median(costs);
  if (!worth_a_line(input, cost, kFillShare)) return {};
  Finding finding = priced(input, cost, 0.5, "compute");
  for (const TimeOfRank& time : costs) finding.ranks.push_back(time.rank);
  finding.title = fmt::format("gradients are filled with zeros: {}", per_step(input, cost));
  finding.detail = fmt::format("{} fills per update, at least one for each parameter tensor; {}",
                               number(fills), kUpperBound);
  finding.evidence = steps_evidence(input, finding.ranks);
  finding.decided_by = {fmt::format("{} kernels per update that only fill memory, {} of a step",
                                    number(fills), ms(cost))};
  finding.refuted_by = {"the program fills other tensors, as many as it has parameters"};
  return {std::move(finding)};
}

std::vector<Finding> backward_overhead(const RuleInput& input) {
  std::vector<TimeOfRank> costs;
  double ratio = 0;
  for (const RankDigest& digest : input.digests) {
    const Facts& facts = digest.facts;
    const auto steps = static_cast<int64_t>(digest.steps.size());
    if (!facts.has_gpu || steps == 0 || facts.backward_starved_ns <= facts.backward_busy_ns)
      continue;
    costs.push_back({digest.rank, facts.backward_starved_ns / steps});
    ratio = std::max(ratio, static_cast<double>(facts.backward_starved_ns) /
                                static_cast<double>(std::max<int64_t>(1, facts.backward_busy_ns)));
  }
  const int64_t cost = lower_median(costs);
  if (!worth_a_line(input, cost, kBackwardShare)) return {};
  Finding finding = priced(input, cost, 0.5, "host");
  for (const TimeOfRank& time : costs) finding.ranks.push_back(time.rank);
  finding.title = fmt::format("backward keeps the device waiting: {}", per_step(input, cost));
  finding.detail =
      fmt::format("within backward the device waits for work {} times as long as it computes; {}",
                  number(ratio), kUpperBound);
  finding.evidence = evidence_of(input, finding.ranks, schema::Marker::kBackward);
  finding.decided_by = {
      fmt::format("idle for want of work within the host's backward: {} per step", ms(cost))};
  finding.refuted_by = {"a compiled backward that is as slow"};
  return {std::move(finding)};
}

// Of a rank's devices, in its steady steps.
struct HeldBackTimes {
  int64_t count = 0;
  int64_t ns = 0;
  std::vector<int64_t> collectives;  // rows of those that held it back
};

HeldBackTimes held_back_on(const RuleInput& input, const RankDigest& digest) {
  HeldBackTimes times;
  const std::optional<Interval> steady = steady_span(input, digest);
  if (!steady) return times;
  for (const DeviceDigest& device : digest.gpu.devices) {
    for (const HeldBack& held : device.held_back) {
      if (held.from < steady->begin || held.from >= steady->end) continue;
      ++times.count;
      times.ns += (held.until - held.from).ns;
      times.collectives.push_back(held.collective);
    }
  }
  return times;
}

std::vector<Finding> false_dependency(const RuleInput& input) {
  std::vector<TimeOfRank> costs;
  std::vector<Evidence> shown;
  double most = 0;
  for (const RankDigest& digest : input.digests) {
    const auto steps = static_cast<int64_t>(steady_steps_of(input, digest).size());
    HeldBackTimes times = held_back_on(input, digest);
    const double per_step = static_cast<double>(times.count) / static_cast<double>(steps);
    if (steps == 0 || per_step < kHostEachStep) continue;
    most = std::max(most, per_step);
    costs.push_back({digest.rank, times.ns / steps});
    if (shown.size() < 4) {
      std::ranges::sort(times.collectives);
      shown.push_back(evidence(digest.rank, "collective", std::move(times.collectives),
                               *steady_span(input, digest)));
    }
  }
  const int64_t cost = lower_median(costs);
  if (!worth_a_line(input, cost, kInfoShare)) return {};
  Finding finding = priced(input, cost, 0.4, "host");
  for (const TimeOfRank& time : costs) finding.ranks.push_back(time.rank);
  finding.title = fmt::format("computation stands behind collectives of another stream: {}",
                              per_step(input, cost));
  finding.detail = fmt::format(
      "{} times per step a kernel that was launched begins only when a collective ends that it has no recorded reason to wait for, and the device computes nothing meanwhile; "
      "the cost is {}",
      number(most), kUpperBound);
  finding.evidence = std::move(shown);
  finding.decided_by = {
      fmt::format(
          "{} kernels per step begin within 10 us of the end of a collective that was launched before them on another stream",
          number(most)),
      "no event that their stream waited for was recorded after that collective's launch"};
  finding.refuted_by = {
      "the same order with CUDA_DEVICE_MAX_CONNECTIONS=32",
      "streams that the legacy default stream orders (made without cudaStreamNonBlocking)",
      "collectives that take every multiprocessor of the device"};
  return {std::move(finding)};
}

constexpr Rule kHostRules[] = {
    {.name = "host.launch-bound",
     .finds =
         "The device waits for its host for at least 10 % of the step, kernels are short and begin as soon as they are launched",
     .severity = "idle time of the device for want of work",
     .guard = "the median kernel takes 20 us or more, or kernels stand in the queue",
     .suppressed_by =
         "host.debug-mode, host.sync-per-step, host.device-synchronize, memory.allocator-stalls, memory.cache-churn",
     .advice = "CUDA graphs, torch.compile or fused operators, a larger batch",
     .detect = launch_bound},
    {.name = "host.sync-per-step",
     .ids = "M15",
     .finds =
         "The host waits for the device in each step, and the device then runs dry for at least 1 % of the step",
     .severity = "idle time of the device after such calls",
     .guard = "no GPU, fewer than one call per step, or no idle time that they caused",
     .suppressed_by = "host.debug-mode, memory.cache-churn, balance.straggler",
     .advice = "keep values on the device, read the loss every 50 steps only, copy asynchronously: "
               ".item(), .cpu(), print of a tensor, `if tensor:` and nonzero all wait",
     .detect = sync_per_step},
    {.name = "host.device-synchronize",
     .finds = "The whole device is waited for in each step",
     .severity = "idle time of the device after such calls",
     .guard = "no GPU, fewer than one call per step, or streams are waited for longer",
     .suppressed_by = "host.debug-mode, memory.cache-churn, balance.straggler",
     .advice = "remove torch.cuda.synchronize() from the loop; time with CUDA events",
     .detect = device_synchronize},
    {.name = "host.debug-mode",
     .finds =
         "Launches return only when their kernel is done (CUDA_LAUNCH_BLOCKING), or each gradient is looked at for NaN (anomaly detection)",
     .severity = "idle time of the device for want of work; the checks' own time",
     .guard =
         "fewer than 95 % of the launches block; anomaly detection is seen at detail full only",
     .suppressed_by = "",
     .advice = "switch debugging modes off",
     .detect = debug_mode},
    {.name = "host.unfused-optimizer",
     .finds =
         "The optimizer launches more than 500 kernels, or more than 5 per parameter tensor, and takes at least 5 % of the step",
     .severity = "the optimizer's time",
     .guard = "fewer launches, or below 5 % of the step",
     .suppressed_by = "host.debug-mode",
     .advice = "fused=True or foreach=True in the optimizer",
     .detect = unfused_optimizer},
    {.name = "host.zero-grad-fills",
     .finds =
         "Each update fills at least as many tensors with zeros as there are parameters, for at least 0.5 % of the step",
     .severity = "time of these kernels",
     .guard = "fewer fills than parameter tensors, or their number is not known",
     .suppressed_by = "",
     .advice = "zero_grad(set_to_none=True)",
     .detect = zero_grad_fills},
    {.name = "host.backward-overhead",
     .finds = "Within backward the device waits for its host longer than it computes",
     .severity = "idle time of the device within backward",
     .guard = "below 3 % of the step, or it computes for longer",
     .suppressed_by = "host.launch-bound, host.debug-mode, host.sync-per-step",
     .advice = "torch.compile, fewer and larger operators, no Python in autograd functions",
     .detect = backward_overhead},
    {.name = "host.false-dependency",
     .finds =
         "In each step kernels that are ready begin only after a collective of another stream that was launched before them, and the device computes nothing until then, for at least 1 % of the step",
     .severity = "upper bound: the time from which they could have run until they begin",
     .guard =
         "an event that orders the two streams, or one that was recorded after the collective's launch; "
         "no events were recorded of the collective's stream; launches that were not recorded, graphs of CUDA",
     .suppressed_by = "host.debug-mode",
     .advice =
         "a larger CUDA_DEVICE_MAX_CONNECTIONS (8 hardware queues unless it is set, 32 at most; some launchers set 1): "
         "streams that share a queue wait for each other; or fewer streams",
     .detect = false_dependency},
};

}  // namespace

std::span<const Rule> host_rules() { return kHostRules; }

}  // namespace dprof::analyzer
