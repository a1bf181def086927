// SPDX-License-Identifier: Apache-2.0
// What a backward does with gradients besides computing them: copies them, waits for them.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyzer/breakdown/time_index.h"
#include "analyzer/rules/families.h"
#include "analyzer/rules/support.h"
#include "base/format.h"
#include "base/paged_memory.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kBeside = 0.05;  // of a reduction that can overlap computation: still a wait
constexpr size_t kFewestPerBackward = 2;
constexpr int64_t kNoTensorBytes = 64 << 10;  // a metric, not a tensor of the model

using schema::Function;
using schema::Marker;

// Tensors of the model itself; broadcasts in forward carry buffers.
bool exchanges(Function function) {
  return reduces(function) || function == Function::kAllGather || function == Function::kAllToAll;
}

bool marks_forward(const RuleInput& input) {
  return std::ranges::any_of(
      input.digests, [](const RankDigest& digest) { return has_phase(digest, Marker::kForward); });
}

// Groups whose results forward needs, so that backward can need them too. If forward is not marked,
// or the data is larger than a metric, the exchange can be outside every phase.
std::set<size_t> groups_in_forward(const RuleInput& input) {
  std::set<size_t> groups;
  const bool marked = marks_forward(input);
  for (const Instance* instance : steady_instances(input)) {
    if (!exchanges(instance->function) || groups.contains(instance->group)) continue;
    const Marker phase = phase_of(input, *instance);
    if (phase == Marker::kBackward || phase == Marker::kOptimizer) continue;
    const bool metric = marked && instance->bytes.value_or(kNoTensorBytes) < kNoTensorBytes;
    if (phase == Marker::kForward || !metric) groups.insert(instance->group);
  }
  return groups;
}

// A rank's part of a reduction called by a backward.
struct Reduction {
  const Instance* instance = nullptr;
  TraceNs called;
  Interval span;  // until it ended on this rank
};

// A rank's reductions of gradients, in order of their call. `needed`: groups_in_forward().
std::vector<Reduction> reductions_of(const RuleInput& input, size_t d,
                                     const std::set<size_t>& needed) {
  std::vector<Reduction> found;
  if (input.matching == nullptr) return found;
  const CollectiveRecords& records = input.digests[d].collectives;
  for (size_t i = 0; i < records.size(); ++i) {
    const size_t at = input.matching->instance_of[d][i];
    if (at == kNoInstance) continue;
    const Instance& instance = input.matching->instances[at];
    if (!reduces(instance.function) || !is_steady(input, instance) ||
        needed.contains(instance.group))
      continue;
    const CollectiveRecord& record = records[i];
    const std::optional<TraceNs> called = record.arrival();
    if (!called || !record.end) continue;
    const Interval span{record.start.value_or(*called), *record.end};
    if (span.begin < span.end) found.push_back({&instance, *called, span});
  }
  std::ranges::stable_sort(found, {}, &Reduction::called);
  return found;
}

// The rank's computation: on its device if it has one.
IntervalSet computation_of(const RuleInput& input, size_t d) {
  const RankDigest& digest = input.digests[d];
  if (!digest.gpu.empty()) {
    if (d >= input.pieces.size()) return {};
    return times_where(input.pieces[d], [](const LatticePiece& piece) {
      return piece.category <= Category::kOverlapped;
    });
  }
  // An autograd node can contain the waiting hook; the operators in it do not.
  if (digest.facts.has_ops) return digest.ops;
  std::vector<Interval> nodes(digest.autograd.begin(), digest.autograd.end());
  nodes.insert(nodes.end(), digest.autograd_elsewhere.begin(), digest.autograd_elsewhere.end());
  return union_of(std::move(nodes));
}

// A step in which each backward waits for its reductions, on one rank.
struct WaitingStep {
  int64_t cost_ns = 0;
  std::vector<const Instance*> reductions;  // waited for; without the last one of each backward
};

// nullopt: too few reductions, or computation overlaps them or follows none.
std::optional<WaitingStep> waiting_step_in(std::span<const Reduction> of_backward,
                                           TraceNs backward_end, const TimeIndex& computation) {
  WaitingStep waiting;
  int64_t still = 0;
  for (size_t i = 0; i + 1 < of_backward.size(); ++i) {
    const Instance* instance = of_backward[i].instance;
    const Interval span = of_backward[i].span;
    const TraceNs next = of_backward[i + 1].span.begin;
    const auto beside = static_cast<double>(computation.within(span));
    if (beside > kBeside * static_cast<double>(span.length().ns)) continue;
    if (computation.within(span.end, next) <= 0) continue;
    ++still;
    waiting.cost_ns += std::min(instance->transfer_ns, span.length().ns);
    waiting.reductions.push_back(instance);
  }
  if (of_backward.size() < kFewestPerBackward ||
      static_cast<double>(still) < kMostSteps * static_cast<double>(of_backward.size() - 1))
    return std::nullopt;
  const TraceNs first_end = of_backward.front().span.end;
  const TraceNs last_end = std::max(backward_end, of_backward.back().span.begin);
  waiting.cost_ns = std::min(waiting.cost_ns, computation.within(first_end, last_end));
  return waiting;
}

// The steady steps of a rank in which its backwards wait.
std::vector<WaitingStep> waiting_steps(const RuleInput& input, size_t d,
                                       const std::vector<Reduction>& reductions) {
  std::vector<WaitingStep> steps;
  if (reductions.empty()) return steps;
  const RankDigest& digest = input.digests[d];
  const TimeIndex computation(computation_of(input, d));
  for (const StepRecord& step : steady_steps_of(input, digest)) {
    WaitingStep all;
    for (const PhaseRange& phase : phases_in(digest, step.window)) {
      if (phase.marker != Marker::kBackward) continue;
      const auto first =
          std::ranges::lower_bound(reductions, phase.span.begin, {}, &Reduction::called);
      const auto last =
          std::ranges::lower_bound(reductions, phase.span.end, {}, &Reduction::called);
      if (first >= last) continue;
      std::optional<WaitingStep> waiting =
          waiting_step_in({first, last}, phase.span.end, computation);
      if (!waiting) continue;
      all.cost_ns += waiting->cost_ns;
      std::ranges::move(waiting->reductions, std::back_inserter(all.reductions));
    }
    if (!all.reductions.empty()) steps.push_back(std::move(all));
  }
  return steps;
}

std::optional<Measured> bucket_copies(const RuleInput& input) {
  std::vector<TimeOfRank> costs;
  double copies = 0;
  bool on_device = false;
  for (const RankDigest& digest : input.digests) {
    const CallRate rate = rate_of(input, digest, CallKind::kBucketCopy);
    const auto steps = static_cast<int64_t>(digest.steps.size());
    if (rate.per_step <= 0 || steps == 0) continue;
    copies = std::max(copies, rate.per_step);
    on_device = on_device || digest.facts.has_gpu;
    const int64_t device_ns = digest.facts.bucket_copies.total_ns / steps;
    costs.push_back({digest.rank, digest.facts.has_gpu ? device_ns : rate.ns});
  }
  if (!is_most(costs.size(), input.digests.size())) return {};
  Measured measured = measured_of(costs);
  measured.figures = {{"copies", number(copies)}, {"where", on_device ? "device" : "host"}};
  measured.evidence = evidence_of(input, measured.ranks, CallKind::kBucketCopy);
  return measured;
}

std::optional<Measured> blocking_wait(const RuleInput& input) {
  std::vector<int64_t> costs;
  std::vector<int> ranks;
  std::vector<const Instance*> waited;
  size_t most = 0;
  const std::set<size_t> needed = groups_in_forward(input);
  const ReadPagedInOrder in_order;
  for (size_t position = 0; position < input.digests.size(); ++position) {
    const RankDigest& digest = input.digests[position];
    const std::vector<WaitingStep> steps =
        waiting_steps(input, position, reductions_of(input, position, needed));
    const auto steady = static_cast<double>(steady_steps_of(input, digest).size());
    if (steps.empty() || static_cast<double>(steps.size()) < kMostSteps * steady) continue;
    ranks.push_back(digest.rank);
    for (const WaitingStep& step : steps) {
      costs.push_back(step.cost_ns);
      most = std::max(most, step.reductions.size());
      if (ranks.size() == 1) std::ranges::copy(step.reductions, std::back_inserter(waited));
    }
  }
  if (!is_most(ranks.size(), input.digests.size())) return {};
  return Measured{.cost_ns = median_ns(costs),
                  .ranks = ranks,
                  .figures = {{"reductions", most},
                              {"beside", format_share(kBeside)},
                              {"steps", format_share(kMostSteps)}},
                  .evidence = evidence_of(input, waited)};
}

}  // namespace

constexpr Rule kBucketCopies = {
    .name = "comm.bucket-copies",
    .finds =
        "DDP copies each gradient into its bucket and back, which takes at least {at least} of the step",
    .costs = "upper bound: time of these copies, on the device where there is one",
    .guard =
        "gradients are views of their buckets; operators were not recorded (detail full has them)",
    .advice =
        "set gradient_as_bucket_view=True in DistributedDataParallel: "
        "gradients then live in their buckets, which also saves one copy of the gradients in memory",
    .judged = {.cause = "compute", .confidence = 0.5, .at_least = kInfoShare},
    .title = "gradients are copied into buckets and back: {cost}",
    .detail =
        "{copies} such copies per step; "
        "gradients that are views of their buckets need a single pass (the division by the number of ranks). "
        "The cost is {upper bound}",
    .decided_by =
        {"DDP's Reducer copies back from buckets, which it does only where gradients are not views of them",
         "the copies take {ms} of the {where} per step, lower median over {n} ranks"},
    .refuted_by = {"a run with gradient_as_bucket_view=True that is no faster"},
    .measure = bucket_copies};

constexpr Rule kBlockingWait = {
    .name = "comm.blocking-wait",
    .finds =
        "in 80 % of the steps, backward blocks until each gradient reduction has finished, although it has more to compute",
    .costs =
        "upper bound: transfers of all but the last reduction of a backward, at most what backward computes after them",
    .guard =
        "fewer than two per backward; computation continues while they run; "
        "groups that also exchange tensors in forward or outside every phase (tensor parallelism, synchronised normalisation, FSDP): "
        "their backward needs the result. "
        "Other early waits are not found: which computation reads a collective's result is not recorded",
    .suppressed_by = "comm.gloo-on-gpu",
    .advice =
        "call the reductions with async_op=True and wait just before the optimizer, which is the first to need them; "
        "in a communication hook return the future instead of waiting for it; or let DistributedDataParallel reduce; "
        "unset TORCH_NCCL_BLOCKING_WAIT",
    .judged = {.cause = "network", .confidence = 0.5, .at_least = kInfoShare},
    .title = "backward blocks on each gradient reduction: {cost}",
    .detail =
        "backward calls up to {reductions} reductions per step, computes nothing while they run and continues after them; "
        "the cost is their transfer time, {upper bound}",
    .decided_by =
        {"computation overlaps less than {beside} of them, in at least {steps} of the steps, on {who}",
         "their group exchanges nothing in forward: it carries gradients, which only the optimizer reads"},
    .refuted_by = {"computation in the same backward that reads a reduced tensor"},
    .measure = blocking_wait};

}  // namespace dprof::analyzer
