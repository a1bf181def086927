// SPDX-License-Identifier: Apache-2.0
// Collectives that a step has needlessly, or lacks.
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

constexpr int64_t kMetricBytes = 64 << 10;  // a metric, not a gradient
constexpr double kFewestMetrics = 2;        // per step
constexpr double kUnevenBytes = 1.3;        // the largest size of a rank, relative to the mean
constexpr int64_t kFewestPatternSteps = 3;

using schema::Function;
using schema::Marker;

struct OverlapTimes {
  int64_t transfer_ns = 0;
  int64_t wait_ns = 0;
};

// Exposed time of the collectives that `chosen` picks, per rank and steady step: mean over ranks.
OverlapTimes overlap_of(const RuleInput& input, auto&& chosen) {
  OverlapTimes times;
  const int64_t steps = steady_steps(input);
  if (!input.report.overlap || steps <= 0 || input.report.overlap->per_rank.empty()) return times;
  for (const CollectiveOverlap& c : input.report.overlap->per_collective) {
    if (!chosen(c)) continue;
    times.transfer_ns += c.exposed_transfer_ns;
    times.wait_ns += c.exposed_wait_ns;
  }
  const int64_t parts = steps * static_cast<int64_t>(input.report.overlap->per_rank.size());
  times.transfer_ns /= parts;
  times.wait_ns /= parts;
  return times;
}

// In which backwards of one step gradients are reduced, on one rank.
struct Backwards {
  int64_t all = 0;
  int64_t reducing = 0;
  int64_t updates = 0;  // optimizer steps
};
Backwards backwards_in(const RankDigest& digest, const StepRecord& step,
                       std::span<const TraceNs> reductions) {
  Backwards found;
  for (const PhaseRange& phase : phases_in(digest, step.window)) {
    if (phase.marker == Marker::kOptimizer) ++found.updates;
    if (phase.marker != Marker::kBackward) continue;
    ++found.all;
    const auto first = std::ranges::lower_bound(reductions, phase.span.begin);
    if (first != reductions.end() && *first < phase.span.end) ++found.reducing;
  }
  return found;
}

// When a rank called its all-reduces, in order.
std::vector<TraceNs> reductions_of(const RankDigest& digest) {
  std::vector<TraceNs> calls;
  for (const CollectiveRecord& record : digest.collectives) {
    if (record.function == Function::kAllReduce && record.arrival())
      calls.push_back(*record.arrival());
  }
  std::ranges::sort(calls);
  return calls;
}

bool is_gradient_phase(Marker phase) {
  return phase == Marker::kBackward || phase == Marker::kOptimizer;
}

// The trace contains collectives and messages of this kind of recording.
bool records_collectives(const RuleInput& input, const RankDigest& digest) {
  if (!digest.collectives.empty()) return true;
  const auto at = static_cast<size_t>(&digest - input.digests.data());
  if (at >= input.traces.size()) return false;
  const std::string& detail = input.traces[at].detail;
  return (detail == "standard" || detail == "full") && !digest.autograd.empty();
}

bool lost_anything(const RankDigest& digest) {
  return std::ranges::any_of(digest.losses, [](const LossRecord& l) { return l.count > 0; });
}

// Whether this collective can carry gradients or parameters between two optimizer steps.
bool may_carry_gradients(const RankDigest& digest, const CollectiveRecord& record) {
  if (record.function == Function::kBarrier) return false;
  if (record.bucket || record.bytes.value_or(kMetricBytes) >= kMetricBytes) return true;
  return record.arrival() && is_gradient_phase(phase_at(digest, *record.arrival()));
}

bool updates_alone(const RuleInput& input, const RankDigest& digest) {
  if (!records_collectives(input, digest) || lost_anything(digest)) return false;
  const std::vector<StepRecord> steady = steady_steps_of(input, digest);
  if (static_cast<int64_t>(steady.size()) < kFewestPatternSteps) return false;
  size_t updates = 0;
  for (const StepRecord& step : steady) {
    if (has_update(digest, step)) ++updates;
  }
  const bool trains =
      static_cast<double>(updates) >= kMostSteps * static_cast<double>(steady.size());
  const TraceNs from = digest.steps.front().window.begin;
  return trains && std::ranges::none_of(digest.collectives, [&](const CollectiveRecord& record) {
           return record.arrival().value_or(from) >= from && may_carry_gradients(digest, record);
         });
}

// Collectives of one kind in the steady steps, with the number per rank and step.
struct Pattern {
  std::vector<const Instance*> instances;
  int64_t steps = 0;
  double per_step = 0;
  int64_t transfer_ns = 0;  // of a rank, per step

  // With these figures: {each} per step, {all} in {steps}.
  [[nodiscard]] Measured costing(const RuleInput& input, int64_t ns) const {
    return {.cost_ns = ns,
            .figures = {{"each", fmt::format("{:.1f}", per_step)},
                        {"all", instances.size()},
                        {"steps", steps}},
            .evidence = evidence_of(input, instances)};
  }
};
Pattern pattern_of(const RuleInput& input, auto&& chosen) {
  Pattern pattern{.instances = steady_instances(input, chosen), .steps = steady_steps(input)};
  if (pattern.steps <= 0) return pattern;
  const RankShare share = largest_share(input, pattern.instances);
  pattern.per_step = ratio(share.calls, pattern.steps);
  pattern.transfer_ns = share.transfer_ns / pattern.steps;
  return pattern;
}

// Exposed time of collectives of that function with one of the pattern's sizes.
OverlapTimes overlap_of(const RuleInput& input, const Pattern& pattern, Function function) {
  std::set<std::optional<int64_t>> sizes;
  for (const Instance* i : pattern.instances) sizes.insert(i->bytes);
  return overlap_of(input, [&](const CollectiveOverlap& c) {
    return c.function == function && sizes.contains(c.bytes);
  });
}

std::optional<Measured> sync_each_microbatch(const RuleInput& input) {
  std::map<std::pair<int64_t, int64_t>, size_t> votes;  // per step: (backwards, those that reduce)
  size_t steps = 0;
  for (const RankDigest& digest : input.digests) {
    const std::vector<TraceNs> reductions = reductions_of(digest);
    if (reductions.empty()) continue;
    for (const StepRecord& step : steady_steps_of(input, digest)) {
      const Backwards found = backwards_in(digest, step, reductions);
      // As many updates as backwards: several models, or separate steps.
      ++votes[{found.all, found.updates < found.all ? found.reducing : 0}];
      ++steps;
    }
  }
  if (steps == 0) return {};
  const auto usual = std::ranges::max_element(votes, {}, [](const auto& v) { return v.second; });
  const auto [k, reducing] = usual->first;
  if (k < 2 || reducing != k || ratio(usual->second, steps) < kMostSteps) return {};
  const OverlapTimes exposed = overlap_of(
      input, [](const CollectiveOverlap& c) { return c.function == Function::kAllReduce; });
  return Measured{
      .cost_ns = (exposed.transfer_ns + exposed.wait_ns) * (k - 1) / k,
      .figures = {{"k", k}, {"first", k - 1}, {"usual", usual->second}, {"steps", steps}},
      .evidence = evidence_of(
          input, steady_instances(
                     input, [](const Instance& i) { return i.function == Function::kAllReduce; })),
      .advice = fmt::format("wrap the first {} of {} micro-batches in `with model.no_sync():`",
                            k - 1, k)};
}

std::optional<Measured> no_gradient_sync(const RuleInput& input) {
  const int64_t world =
      input.report.run.world_size.value_or(static_cast<int64_t>(input.digests.size()));
  if (input.digests.size() < 2 || world < 2 || input.matching == nullptr ||
      !input.matching->messages.empty())
    return {};
  std::vector<int> ranks;
  for (const RankDigest& digest : input.digests) {
    if (!updates_alone(input, digest)) return {};
    ranks.push_back(digest.rank);
  }
  const auto barriers = std::ranges::count_if(input.matching->instances, [](const Instance& i) {
    return i.function == Function::kBarrier;
  });
  return Measured{.ranks = ranks,
                  .figures = {{"barriers", barriers}},
                  .evidence = evidence_of(input, ranks, Marker::kOptimizer)};
}

std::optional<Measured> needless_barrier(const RuleInput& input) {
  const Pattern barriers = pattern_of(input, [&](const Instance& i) {
    return i.function == Function::kBarrier && phase_of(input, i) != Marker::kCheckpoint;
  });
  const OverlapTimes exposed = overlap_of(
      input, [](const CollectiveOverlap& c) { return c.function == Function::kBarrier; });
  const int64_t cost = exposed.transfer_ns + exposed.wait_ns;
  // An occasional barrier without a cost is no problem.
  if (barriers.per_step <= 0 ||
      (barriers.per_step < kMostSteps && share_of(input, cost) < kInfoShare))
    return {};
  Measured measured = barriers.costing(input, cost);
  measured.figures.emplace_back("waiting", ms(exposed.wait_ns));
  measured.figures.emplace_back("passing", ms(exposed.transfer_ns));
  return measured;
}

std::optional<Measured> buffer_broadcast(const RuleInput& input) {
  const Pattern broadcasts = pattern_of(input, [&](const Instance& i) {
    return i.function == Function::kBroadcast && phase_of(input, i) == Marker::kForward;
  });
  if (broadcasts.per_step < kMostSteps) return {};
  const OverlapTimes exposed = overlap_of(input, broadcasts, Function::kBroadcast);
  return broadcasts.costing(input, exposed.transfer_ns + exposed.wait_ns);
}

std::optional<Measured> small_collectives(const RuleInput& input) {
  const Pattern small = pattern_of(input, [&](const Instance& i) {
    const bool metric = i.function == Function::kAllReduce || i.function == Function::kAllGather ||
                        i.function == Function::kReduce || i.function == Function::kGather;
    if (!metric || i.bucket || i.bytes.value_or(kMetricBytes) >= kMetricBytes) return false;
    const Marker phase = phase_of(input, i);
    return phase != Marker::kForward && phase != Marker::kBackward;
  });
  if (small.per_step < kFewestMetrics) return {};
  return small.costing(input, small.transfer_ns);
}

std::optional<Measured> gather_exposed(const RuleInput& input) {
  const Pattern gathers = pattern_of(input, [&](const Instance& i) {
    if (i.function != Function::kAllGather) return false;
    const Marker phase = phase_of(input, i);
    return phase == Marker::kForward || phase == Marker::kBackward;
  });
  if (gathers.per_step < kMostSteps) return {};
  return gathers.costing(input, overlap_of(input, gathers, Function::kAllGather).transfer_ns);
}

std::optional<Measured> all_to_all_imbalance(const RuleInput& input) {
  std::vector<const Instance*> uneven;
  std::vector<double> ratios;
  std::map<int, int64_t> bytes_of;
  for (const Instance* i : steady_instances(input)) {
    if (i->function != Function::kAllToAll || i->members.size() < 2) continue;
    int64_t most = 0;
    int64_t sum = 0;
    for (const Member& member : i->members) {
      const int64_t bytes = record_of(input, member).bytes.value_or(0);
      most = std::max(most, bytes);
      sum += bytes;
      bytes_of[input.digests[member.digest].rank] += bytes;
    }
    if (sum <= 0) continue;
    ratios.push_back(static_cast<double>(most) * static_cast<double>(i->members.size()) /
                     static_cast<double>(sum));
    uneven.push_back(i);
  }
  const double uneven_by = median(ratios);
  if (ratios.empty() || uneven_by <= kUnevenBytes) return {};
  const OverlapTimes exposed = overlap_of(
      input, [](const CollectiveOverlap& c) { return c.function == Function::kAllToAll; });
  const auto heaviest =
      std::ranges::max_element(bytes_of, {}, [](const auto& entry) { return entry.second; });
  return Measured{
      // An even division moves the mean instead of the largest size.
      .cost_ns = exposed.wait_ns + static_cast<int64_t>(static_cast<double>(exposed.transfer_ns) *
                                                        (1 - 1 / uneven_by)),
      .figures = {{"rank", heaviest->first},
                  {"times", fmt::format("{:.2f}", uneven_by)},
                  {"all", uneven.size()}},
      .evidence = evidence_of(input, uneven)};
}

}  // namespace

constexpr Rule kNoGradientSync = {
    .name = "comm.no-gradient-sync",
    .ids = "M6",
    .finds = "all ranks run an optimizer, and no collective or message carries data in their steps",
    .costs = "fatal: each rank trains its own model",
    .guard =
        "one rank; collectives are not recorded (detail light); records were lost; fewer than 3 steady steps; "
        "any collective with data in backward or the optimizer, or of 64 KiB or more",
    .advice =
        "wrap the model in DistributedDataParallel, or all-reduce the gradients before the optimizer; "
        "a barrier exchanges nothing",
    .judged = {.cause = "synchronisation", .confidence = 0.8, .severity = kCritical},
    .title = "{n} ranks train without exchanging gradients",
    .detail =
        "only {barriers} barriers connect the ranks in the recorded steps: each trains its own model",
    .decided_by =
        {"each of {n} ranks has an optimizer phase in its steps",
         "no collective with data in backward or the optimizer, none of 64 KiB or more, no message"},
    .refuted_by = {"ranks that are meant to train separate models (a hyperparameter search)",
                   "gradients exchanged by a library that the trace does not cover"},
    .measure = no_gradient_sync};

constexpr Rule kSyncEachMicrobatch = {
    .name = "comm.sync-each-microbatch",
    .ids = "M3",
    .finds = "each of a step's k backwards all-reduces, in 80 % of the steps",
    .costs = "upper bound: (k - 1) / k of the all-reduces' exposed time",
    .guard =
        "only the last backward of a step reduces (no_sync), or there is one; "
        "there are as many optimizers as backwards (several models)",
    .advice = "wrap all micro-batches but the last in `with model.no_sync():`",
    .judged = {.cause = "network", .confidence = 0.6},
    .title = "gradients are reduced in each of {k} micro-batches instead of once: {cost}",
    .detail =
        "each of a step's {k} backwards all-reduces, and one update follows; "
        "the cost is the exposed time of {first} of the {k}, {upper bound}",
    .decided_by = {"{usual} of {steps} steps have {k} backwards, all of which reduce"},
    .refuted_by = {"those all-reduces carry something other than gradients"},
    .measure = sync_each_microbatch};

constexpr Rule kNeedlessBarrier = {
    .name = "comm.needless-barrier",
    .ids = "M7",
    .finds = "barriers in 80 % of the steady steps, or occasional ones that cost 1 % of the step",
    .costs = "upper bound: waiting in barriers, and executing them",
    .guard = "barriers in checkpoints",
    .suppressed_by = "balance.straggler",
    .advice =
        "remove the barrier: the gradient collectives keep the ranks together; "
        "dprof needs none to measure times",
    .judged = {.cause = "synchronisation", .confidence = 0.4},
    .title = "{each} needless barriers per step: {cost}",
    .detail =
        "the gradient collectives synchronise all ranks anyway; {upper bound}. "
        "Without the barrier, waiting for a late rank moves to the next collective",
    .decided_by = {"{all} barriers in {steps} steady steps, outside checkpoints",
                   "{waiting} of waiting and {passing} of execution per step"},
    .refuted_by = {"work outside the trace that all ranks must have finished by then"},
    .measure = needless_barrier};

constexpr Rule kBufferBroadcast = {
    .name = "comm.buffer-broadcast",
    .finds = "forward broadcasts in 80 % of the steady steps",
    .costs = "upper bound: their exposed time",
    .guard = "below {at least} of the step",
    .suppressed_by = "comm.gloo-on-gpu, comm.slow-group, balance.straggler",
    .advice =
        "set broadcast_buffers=False if ranks may keep their own buffers (batch normalisation's running statistics)",
    .judged = {.cause = "network", .confidence = 0.4, .at_least = kInfoShare},
    .title = "DDP broadcasts buffers in every forward: {cost}",
    .detail = "{each} broadcasts per step, at the start of forward; {upper bound}",
    .decided_by = {"{all} broadcasts in the forwards of {steps} steady steps"},
    .refuted_by = {"buffers that must be equal on all ranks during training"},
    .measure = buffer_broadcast};

constexpr Rule kSmallCollectives = {
    .name = "comm.small-collectives",
    .finds =
        "two or more collectives per step of less than 64 KiB, in no bucket, outside forward and backward",
    .costs = "upper bound: their transfers",
    .guard = "below {at least} of the step; synchronised batch normalisation",
    .suppressed_by = "comm.gloo-on-gpu, comm.slow-group",
    .advice =
        "pack a step's metrics into one tensor; or exchange them every N steps, or with async_op=True",
    .judged = {.cause = "network", .confidence = 0.4, .at_least = kInfoShare},
    .title = "{each} small collectives per step outside forward and backward: {cost}",
    .detail = "less than 64 KiB each, such as metrics; the cost is their transfers, {upper bound}",
    .decided_by = {"{all} in {steps} steady steps, in no bucket"},
    .refuted_by = {"a following step that needs their results"},
    .measure = small_collectives};

constexpr Rule kGatherExposed = {
    .name = "comm.gather-exposed",
    .finds =
        "all-gathers in forward or backward in 80 % of the steps, exposed for {at least} of the step",
    .costs = "upper bound: their exposed transfers",
    .guard = "they follow the optimizer (ZeRO-1, ZeRO-2)",
    .suppressed_by = "comm.gloo-on-gpu, comm.slow-group",
    .advice =
        "prefetch (forward_prefetch, backward_prefetch=BACKWARD_PRE); or wrap larger units, or set reshard_after_forward=False if memory allows",
    .judged = {.cause = "network", .confidence = 0.4, .at_least = kWarnShare},
    .title = "parameters are gathered without prefetching: {cost}",
    .detail =
        "{each} all-gathers per step in forward and backward overlap no computation; {upper bound}",
    .decided_by = {"exposed transfer of all-gathers in forward and backward: {cost}"},
    .refuted_by = {"a run with prefetching that is no faster"},
    .measure = gather_exposed};

constexpr Rule kAllToAllImbalance = {
    .name = "comm.all-to-all-imbalance",
    .finds = "the rank that sends most to an all-to-all sends more than 1.3 times the mean",
    .costs = "upper bound: waiting in them, and transfers beyond the mean",
    .guard = "bytes were not recorded; below {at least} of the step",
    .suppressed_by = "comm.slow-group",
    .advice =
        "add a load-balancing loss or a capacity factor for the experts; shard embedding tables by use",
    .judged = {.cause = "input_imbalance", .confidence = 0.4, .at_least = kInfoShare},
    .title = "all-to-alls are uneven, rank {rank} sends most: {cost}",
    .detail = "that rank sends {times} times the mean; {upper bound}",
    .decided_by = {"bytes per rank in {all} all-to-alls: median ratio of the largest to the mean"},
    .refuted_by = {"ranks that wait in them for another reason: see balance.straggler"},
    .measure = all_to_all_imbalance};

}  // namespace dprof::analyzer
