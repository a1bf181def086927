// SPDX-License-Identifier: Apache-2.0
// Reasons for the device to wait for its host: synchronisation, launches, debugging modes.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/rules/rule.h"
#include "analyzer/rules/support.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kShortKernelNs = 20'000;
constexpr double kShortLagNs = 30'000;  // from launch to begin: nothing is queued
constexpr int64_t kFewestKernels = 100;
constexpr int64_t kFewestHostSampled = 32;
constexpr double kAlmostAll = 0.95;
constexpr double kChecksPerNode = 0.5;
constexpr int64_t kFewestChecks = 10;
constexpr double kManyLaunches = 500;
constexpr double kLaunchesPerTensor = 5;
constexpr double kFarMore = 100;  // times as long: beyond, the factor is meaningless

// The device's idle time for lack of work.
std::vector<TimeOfRank> starved_times(const RuleInput& input) {
  return sum_of(times_of(input, Category::kHost), times_of(input, Category::kLaunch));
}

void keep(std::vector<TimeOfRank>& times, std::span<const int> ranks) {
  std::erase_if(times, [&](const TimeOfRank& t) { return std::ranges::count(ranks, t.rank) == 0; });
}

// Mean over steady steps of a per-step fact.
int64_t per_steady_step(const RuleInput& input, const RankDigest& digest,
                        std::vector<int64_t> Facts::*which) {
  const std::vector<int64_t>& by_step = digest.facts.*which;
  const std::vector<StepRecord> steady = steady_steps_of(input, digest);
  if (steady.empty()) return 0;
  int64_t sum = 0;
  for (size_t s = 0; s < std::min(by_step.size(), digest.steps.size()); ++s) {
    const int64_t index = digest.steps[s].index;
    if (index >= steady.front().index && index <= steady.back().index) sum += by_step[s];
  }
  return sum / static_cast<int64_t>(steady.size());
}

// The device idles after the host has waited for it: the cost of such calls. Without waiting, the
// host would be ahead by at most its waiting time.
std::optional<Measured> synchronising(const RuleInput& input, CallKind kind,
                                      std::string_view for_what) {
  const CallingRanks callers = callers_of(input, kind, kEachStep);
  std::vector<TimeOfRank> bubbles = times_of(input, Category::kSyncBubble);
  keep(bubbles, callers.ranks);
  for (TimeOfRank& bubble : bubbles) {
    const RankDigest* digest = digest_of(input, bubble.rank);
    if (digest == nullptr || digest->facts.device_wait_ns.empty()) continue;
    bubble.ns = std::min(bubble.ns, per_steady_step(input, *digest, &Facts::device_wait_ns));
  }
  std::erase_if(bubbles, [&](const TimeOfRank& t) {
    return t.ns <= 0 || share_of(input, t.ns) < kInfoShare;
  });
  if (!has_gpu(input) || bubbles.empty()) return {};
  Measured measured = measured_of(bubbles);
  measured.evidence = evidence_of(input, measured.ranks, kind);
  measured.figures = {{"for", std::string(for_what)},
                      {"calls", number(callers.per_step)},
                      {"callers", callers.ranks.size()},
                      {"waiting", ms(callers.ns)}};
  return measured;
}
constexpr std::string_view kRunsDry =
    "{who} {waits|wait} for {for} in every step, which leaves the device idle: {cost}";
constexpr std::string_view kSuchCalls =
    "{calls} such calls per step, in which the host waits {waiting}; "
    "the cost is the device's idle time after them";
constexpr std::string_view kCallers = "{calls} calls per steady step, median over {callers} ranks";
constexpr std::string_view kIdle = "device idle time caused by these calls: {ms} per step";

// Of the two kinds, the one that blocks the host longer is the cause.
bool device_waits_prevail(const RuleInput& input) {
  const CallingRanks device = callers_of(input, CallKind::kDeviceSync, kEachStep);
  return !device.ranks.empty() &&
         device.ns >= callers_of(input, CallKind::kStreamSync, kEachStep).ns;
}

std::optional<Measured> sync_per_step(const RuleInput& input) {
  if (device_waits_prevail(input)) return {};
  std::optional<Measured> measured = synchronising(input, CallKind::kStreamSync, "the device");
  if (!measured) measured = synchronising(input, CallKind::kBlockingCopy, "copies");
  const CallingRanks items = callers_of(input, CallKind::kItem, kEachStep);
  if (!measured || items.ranks.empty()) return measured;
  measured->decided_by = {
      fmt::format("a tensor's value is read {} times per step (.item() or equivalent)",
                  number(items.per_step))};
  for (Evidence& shown : evidence_of(input, items.ranks, CallKind::kItem)) {
    if (measured->evidence->size() < 8) measured->evidence->push_back(std::move(shown));
  }
  return measured;
}

constexpr Rule kSyncPerStep = {
    .name = "host.sync-per-step",
    .ids = "M15",
    .finds =
        "the host waits for the device in every step, which leaves the device idle for at least {at least} of the step",
    .costs = "the device's idle time after such calls, and no more than the host waited in them",
    .guard = "no GPU, fewer than one call per step, or no idle time after them",
    .suppressed_by = "host.debug-mode, memory.cache-churn, balance.straggler",
    .advice =
        "read the loss only every 50 steps; copy with non_blocking=True; "
        ".item(), .cpu(), printing a tensor, `if tensor:` and nonzero all wait for the device",
    .removed_by = "sync=none",
    .judged = {.cause = "synchronisation", .confidence = 0.7, .at_least = kInfoShare},
    .title = kRunsDry,
    .detail = kSuchCalls,
    .decided_by = {kCallers, kIdle},
    .refuted_by = {"a run without these calls that is no faster"},
    .measure = sync_per_step};

std::optional<Measured> device_synchronize(const RuleInput& input) {
  if (!device_waits_prevail(input)) return {};
  return synchronising(input, CallKind::kDeviceSync, "the whole device");
}

constexpr Rule kDeviceSynchronize = {
    .name = "host.device-synchronize",
    .finds = "the host waits for the whole device in every step",
    .costs = "the device's idle time after such calls, and no more than the host waited in them",
    .guard = "no GPU, fewer than one call per step, or longer waits for streams",
    .suppressed_by = "host.debug-mode, memory.cache-churn, balance.straggler",
    .advice = "remove torch.cuda.synchronize() from the loop; use CUDA events for timing",
    .removed_by = "sync=none",
    .judged = {.cause = "synchronisation", .confidence = 0.7, .at_least = kInfoShare},
    .title = kRunsDry,
    .detail = kSuchCalls,
    .decided_by = {kCallers, kIdle},
    .refuted_by = {"a run without these calls that is no faster"},
    .measure = device_synchronize};

// The kernels of all these ranks.
LogHistogram all_of(std::span<const RankDigest> digests, LogHistogram Facts::*which) {
  LogHistogram all;
  for (const RankDigest& digest : digests) all.merge(digest.facts.*which);
  return all;
}

std::optional<Measured> launch_bound(const RuleInput& input) {
  const LogHistogram lengths = all_of(input.digests, &Facts::kernel_ns);
  const LogHistogram lags = all_of(input.digests, &Facts::start_lag_ns);
  if (lengths.count() < kFewestKernels || lags.count() < kFewestHostSampled) return {};
  const double length = lengths.quantile(0.5);
  const double lag = lags.quantile(0.5);
  if (length >= kShortKernelNs || lag >= kShortLagNs) return {};
  Measured measured = measured_of(starved_times(input));
  measured.figures = {{"length", format_duration({static_cast<int64_t>(length)})},
                      {"lag", format_duration({static_cast<int64_t>(lag)})}};
  return measured;
}

constexpr Rule kLaunchBound = {
    .name = "host.launch-bound",
    .finds =
        "the device waits for its host for at least {at least} of the step; kernels are short and start as soon as they are launched",
    .costs = "the device's idle time for lack of work",
    .guard = "a median kernel of 20 us or more, or kernels that queue",
    .suppressed_by =
        "host.debug-mode, host.sync-per-step, host.device-synchronize, memory.allocator-stalls, memory.cache-churn",
    .advice = "use CUDA graphs or torch.compile(mode=\"reduce-overhead\"); or a larger batch",
    .removed_by = "launch=graphs",
    .judged = {.cause = "host", .confidence = 0.7, .at_least = 0.10},
    .title = "the device waits for kernel launches: {cost}",
    .detail = "half of the kernels are shorter than {length}; {upper bound}",
    .decided_by = {"the device is idle for {ms} of a step for lack of work",
                   "the median kernel takes {length}",
                   "half of the kernels start within {lag} of their launch: the queue is empty"},
    .refuted_by = {"a run under a CUDA graph that is no faster"},
    .measure = launch_bound};

// A launch that returns only when its kernel has ended: CUDA_LAUNCH_BLOCKING.
std::optional<Measured> launch_blocking(const RuleInput& input) {
  Measured measured;
  for (const RankDigest& digest : input.digests) {
    const Facts& facts = digest.facts;
    if (facts.launches_sampled < kFewestHostSampled ||
        static_cast<double>(facts.launches_until_done) <
            kAlmostAll * static_cast<double>(facts.launches_sampled))
      continue;
    measured.ranks.push_back(digest.rank);
    measured.decided_by = {fmt::format(
        "{} of {} sampled launches on rank {} returned only after their kernel had finished",
        facts.launches_until_done, facts.launches_sampled, digest.rank)};
  }
  if (measured.ranks.empty()) return {};
  std::vector<TimeOfRank> starved =
      sum_of(starved_times(input), times_of(input, Category::kSyncBubble));
  keep(starved, measured.ranks);
  measured.cost_ns = lower_median(starved);
  measured.advice = "unset CUDA_LAUNCH_BLOCKING: it is for debugging a failed launch";
  return measured;
}

constexpr Rule kLaunchBlocking = {
    .name = "host.debug-mode",
    .judged = {.cause = "host", .confidence = 0.9, .mildest = kWarn},
    .title = "{who} {runs|run} with CUDA_LAUNCH_BLOCKING: {cost}",
    .detail = "each launch waits for its kernel, so the queue is always empty",
    .refuted_by = {"ranks whose environment does not set CUDA_LAUNCH_BLOCKING"}};

// Checks of each gradient: anomaly detection.
std::optional<Measured> nan_checks(const RuleInput& input) {
  Measured measured;
  for (const RankDigest& digest : input.digests) {
    const int64_t nan = digest.facts.of(CallKind::kNanCheck).count;
    const int64_t nodes = digest.facts.autograd_nodes;
    if (nan < kFewestChecks || nodes <= 0 ||
        static_cast<double>(nan) < kChecksPerNode * static_cast<double>(nodes))
      continue;
    measured.ranks.push_back(digest.rank);
    measured.decided_by = {fmt::format("{} calls of aten::isnan for {} autograd nodes on rank {}",
                                       nan, nodes, digest.rank)};
  }
  if (measured.ranks.empty()) return {};
  const CallingRanks callers = callers_of(input, CallKind::kNanCheck, 1);
  if (callers.ns > 0) measured.cost_ns = callers.ns;
  measured.advice = "remove torch.autograd.set_detect_anomaly(True) unless you are debugging";
  measured.evidence = evidence_of(input, measured.ranks, CallKind::kNanCheck);
  return measured;
}

constexpr Rule kNanChecks = {
    .name = "host.debug-mode",
    .judged = {.cause = "host", .confidence = 0.9, .severity = kWarn},
    .title = "{who} {checks|check} each gradient for NaN: anomaly detection is on",
    .detail = "each autograd node is followed by a check that waits for its result",
    .refuted_by = {"a model that calls isnan itself"}};

constexpr Rule kDebugMode = {
    .name = "host.debug-mode",
    .finds =
        "launches return only when their kernel has finished (CUDA_LAUNCH_BLOCKING), or each gradient is checked for NaN (anomaly detection)",
    .costs = "the device's idle time for lack of work; the checks' own time",
    .guard =
        "fewer than 95 % of the launches block; anomaly detection is recorded only at detail full",
    .advice = "turn off debugging modes",
    .detect = [](const RuleInput& input) {
      std::vector<Finding> findings = found(input, kLaunchBlocking, launch_blocking(input));
      std::ranges::move(found(input, kNanChecks, nan_checks(input)), std::back_inserter(findings));
      return findings;
    }};

std::optional<Measured> unfused_optimizer(const RuleInput& input) {
  std::vector<TimeOfRank> costs;
  double most = 0;
  std::string tensors;
  for (const TimeOfRank& time :
       sum_of(times_of(input, Category::kOptimizer), times_of(input, "host.optimizer"))) {
    const RankDigest* digest = digest_of(input, time.rank);
    if (digest == nullptr || digest->facts.optimizer_phases == 0) continue;
    const double launches = ratio(digest->facts.optimizer_launches, digest->facts.optimizer_phases);
    const std::optional<int64_t> known = digest->facts.parameter_tensors;
    const bool per_tensor =
        known && *known > 0 && launches > kLaunchesPerTensor * static_cast<double>(*known);
    if (launches <= kManyLaunches && !per_tensor) continue;
    most = std::max(most, launches);
    if (known) tensors = fmt::format("the model has {} parameter tensors; ", *known);
    costs.push_back(time);
  }
  Measured measured = measured_of(costs);
  measured.figures = {{"launches", number(most)}, {"tensors", tensors}};
  measured.evidence = evidence_of(input, measured.ranks, schema::Marker::kOptimizer);
  return measured;
}

constexpr Rule kUnfusedOptimizer = {
    .name = "host.unfused-optimizer",
    .finds =
        "the optimizer launches more than 500 kernels, or more than 5 per parameter tensor, and takes at least {at least} of the step",
    .costs = "the optimizer's time",
    .guard = "fewer launches, or below 5 % of the step",
    .suppressed_by = "host.debug-mode",
    .advice = "construct the optimizer with fused=True, or else foreach=True",
    .judged = {.cause = "compute", .confidence = 0.5, .at_least = 0.05},
    .title = "the optimizer launches {launches} kernels per update: {cost}",
    .detail = "{tensors}the cost is the optimizer's whole time, {upper bound}",
    .decided_by = {"{launches} launches per optimizer phase on average",
                   "the optimizer takes {ms} of a step"},
    .refuted_by = {"a run with a fused or foreach optimizer that is no faster"},
    .measure = unfused_optimizer};

std::optional<Measured> zero_grad_fills(const RuleInput& input) {
  std::vector<TimeOfRank> costs = times_of_kernels(input, KernelClass::kFill);
  double fills = 0;
  std::erase_if(costs, [&](const TimeOfRank& time) {
    const Facts& facts = digest_of(input, time.rank)->facts;
    if (facts.optimizer_phases == 0 || facts.parameter_tensors.value_or(0) <= 0) return true;
    const double per_update = ratio(facts.of(KernelClass::kFill).count, facts.optimizer_phases);
    fills = std::max(fills, per_update);
    return per_update < kEachStep * static_cast<double>(*facts.parameter_tensors);
  });
  Measured measured = measured_of(costs);
  measured.figures = {{"fills", number(fills)}};
  return measured;
}

constexpr Rule kZeroGradFills = {
    .name = "host.zero-grad-fills",
    .finds =
        "each update zero-fills at least as many tensors as there are parameters, for at least {at least} of the step",
    .costs = "time of these kernels",
    .guard = "fewer fills than parameter tensors, or an unknown number of those",
    .advice = "use optimizer.zero_grad(set_to_none=True)",
    .judged = {.cause = "compute", .confidence = 0.5, .at_least = 0.005},
    .title = "gradients are filled with zeros: {cost}",
    .detail = "{fills} fills per update, at least one for each parameter tensor; {upper bound}",
    .decided_by = {"{fills} kernels per update that only fill memory, {ms} of a step"},
    .refuted_by = {"a program that fills as many other tensors as it has parameters"},
    .measure = zero_grad_fills};

std::optional<Measured> backward_overhead(const RuleInput& input) {
  std::vector<TimeOfRank> costs;
  double longer = 0;
  for (const RankDigest& digest : input.digests) {
    if (!digest.facts.has_gpu) continue;
    const int64_t starved = per_steady_step(input, digest, &Facts::backward_starved_ns);
    const int64_t busy = per_steady_step(input, digest, &Facts::backward_busy_ns);
    if (starved <= busy) continue;
    costs.push_back({digest.rank, starved});
    longer = std::max(longer, ratio(starved, std::max<int64_t>(1, busy)));
  }
  Measured measured = measured_of(costs);
  measured.figures = {
      {"times", longer > kFarMore ? fmt::format("more than {:.0f}", kFarMore) : number(longer)}};
  measured.evidence = evidence_of(input, measured.ranks, schema::Marker::kBackward);
  return measured;
}

constexpr Rule kBackwardOverhead = {
    .name = "host.backward-overhead",
    .finds = "within backward the device spends more time waiting for its host than computing",
    .costs = "the device's idle time within backward",
    .guard = "below {at least} of the step, or more computing than waiting",
    .suppressed_by = "host.launch-bound, host.debug-mode, host.sync-per-step",
    .advice =
        "use torch.compile; else fewer and larger operators, and no Python in autograd functions",
    .judged = {.cause = "host", .confidence = 0.5, .at_least = kWarnShare},
    .title = "backward keeps the device waiting: {cost}",
    .detail =
        "within backward the device waits for work {times} times as long as it computes; {upper bound}",
    .decided_by = {"idle for lack of work within the host's backward: {ms} per step"},
    .refuted_by = {"a compiled backward that is no faster"},
    .measure = backward_overhead};

// For a rank's devices, in its steady steps.
struct HeldBackTimes {
  int64_t count = 0;
  int64_t ns = 0;
  std::vector<int64_t> collectives;  // rows of those that delayed it
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

std::optional<Measured> false_dependency(const RuleInput& input) {
  std::vector<TimeOfRank> costs;
  std::vector<Evidence> shown;
  double most = 0;
  for (const RankDigest& digest : input.digests) {
    const auto steps = static_cast<int64_t>(steady_steps_of(input, digest).size());
    HeldBackTimes times = held_back_on(input, digest);
    const double each = ratio(times.count, steps);
    if (each < kEachStep) continue;
    most = std::max(most, each);
    costs.push_back({digest.rank, times.ns / steps});
    if (shown.size() >= kEvidenceRanks) continue;
    std::ranges::sort(times.collectives);
    shown.push_back(evidence(digest.rank, "collective", std::move(times.collectives),
                             *steady_span(input, digest)));
  }
  Measured measured = measured_of(costs);
  measured.figures = {{"times", number(most)}};
  measured.evidence = std::move(shown);
  return measured;
}

constexpr Rule kFalseDependency = {
    .name = "host.false-dependency",
    .finds =
        "in every step, ready kernels start only after a collective that was launched before them on another stream, and the device computes nothing until then, for at least {at least} of the step",
    .costs = "upper bound: the time from when they could have run until they started",
    .guard =
        "an event orders the two streams, or was recorded after the collective's launch; "
        "no events of the collective's stream were recorded; launches that were not recorded; CUDA graphs",
    .suppressed_by = "host.debug-mode",
    .advice =
        "raise CUDA_DEVICE_MAX_CONNECTIONS (default 8 hardware queues, at most 32; some launchers set 1), or use fewer streams: "
        "streams that share a queue wait for each other",
    .judged = {.cause = "host", .confidence = 0.4, .at_least = kInfoShare},
    .title = "computation queues behind collectives on another stream: {cost}",
    .detail =
        "{times} times per step a launched kernel waits for a collective although no recorded dependency requires it; the device computes nothing meanwhile; "
        "the cost is {upper bound}",
    .decided_by =
        {"{times} kernels per step start within 10 us of the end of a collective that was launched before them on another stream",
         "their stream waited for no event recorded after that collective's launch"},
    .refuted_by =
        {"the same order with CUDA_DEVICE_MAX_CONNECTIONS=32",
         "streams ordered by the legacy default stream (created without cudaStreamNonBlocking)",
         "collectives that take every multiprocessor of the device"},
    .measure = false_dependency};

}  // namespace

std::vector<Rule> host_rules() {
  return {kLaunchBound,      kSyncPerStep,   kDeviceSynchronize, kDebugMode,
          kUnfusedOptimizer, kZeroGradFills, kBackwardOverhead,  kFalseDependency};
}

}  // namespace dprof::analyzer
