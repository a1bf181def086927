// SPDX-License-Identifier: Apache-2.0
// Which collectives a step has that it need not have, or lacks.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/rules/comm.h"
#include "analyzer/rules/support.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer::comm {
namespace {

constexpr int64_t kMetricBytes = 64 << 10;  // a metric, not a gradient
constexpr double kFewestMetrics = 2;        // per step
constexpr double kUnevenBytes = 1.3;        // the most that a rank gives, by the mean
constexpr int64_t kFewestPatternSteps = 3;

using schema::Function;
using schema::Marker;

struct OverlapTimes {
  int64_t transfer_ns = 0;
  int64_t wait_ns = 0;
};

bool gathers(Function function) { return function == Function::kAllGather; }

// Exposed time of the collectives that `chosen` picks, per rank and steady step: mean over ranks.
template <typename Chosen>
OverlapTimes overlap_of(const RuleInput& input, Chosen&& chosen) {
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

// In which of the backwards of one step gradients are reduced, on one rank.
struct Backwards {
  int64_t all = 0;
  int64_t reducing = 0;
  int64_t updates = 0;  // optimizers
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

// Collectives and messages of this kind of recording stand in the trace.
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

// Does this collective carry gradients or parameters between two optimizer steps?
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
    const bool any = std::ranges::count(phases_in(digest, step.window), Marker::kOptimizer,
                                        &PhaseRange::marker) > 0;
    if (any) ++updates;
  }
  const bool trains =
      static_cast<double>(updates) >= kMostSteps * static_cast<double>(steady.size());
  const TraceNs from = digest.steps.front().window.begin;
  return trains && std::ranges::none_of(digest.collectives, [&](const CollectiveRecord& record) {
           return record.arrival().value_or(from) >= from && may_carry_gradients(digest, record);
         });
}

}  // namespace

std::vector<Finding> sync_each_microbatch(const RuleInput& input) {
  std::map<std::pair<int64_t, int64_t>, size_t> votes;  // (backwards, those that reduce) of a step
  std::vector<int> ranks;
  size_t steps = 0;
  for (const RankDigest& digest : input.digests) {
    const std::vector<TraceNs> reductions = reductions_of(digest);
    if (reductions.empty()) continue;
    ranks.push_back(digest.rank);
    for (const StepRecord& step : steady_steps_of(input, digest)) {
      const Backwards found = backwards_in(digest, step, reductions);
      // As many updates as backwards: several models, or as many steps.
      ++votes[{found.all, found.updates < found.all ? found.reducing : 0}];
      ++steps;
    }
  }
  if (steps == 0) return {};
  const auto usual = std::ranges::max_element(votes, {}, [](const auto& v) { return v.second; });
  const auto [k, reducing] = usual->first;
  if (k < 2 || reducing != k ||
      static_cast<double>(usual->second) < kMostSteps * static_cast<double>(steps)) {
    return {};
  }
  const auto exposed = overlap_of(
      input, [](const CollectiveOverlap& c) { return c.function == Function::kAllReduce; });
  const int64_t cost = (exposed.transfer_ns + exposed.wait_ns) * (k - 1) / k;
  Finding finding = priced(input, cost, 0.6, "network");
  finding.title = fmt::format("gradients are reduced in each of {} micro-batches: {}", k,
                              per_step(input, cost));
  finding.detail = fmt::format(
      "each of the {} backwards of a step has all-reduces, and one update follows; "
      "the cost is what {} of {} expose, {}",
      k, k - 1, k, kUpperBound);
  finding.advice =
      fmt::format("put the first {} of {} micro-batches into `with model.no_sync():`", k - 1, k);
  finding.decided_by = {fmt::format("{} of {} steps have {} backwards, all of which reduce",
                                    usual->second, steps, k)};
  finding.refuted_by = {"those all-reduces carry something other than gradients"};
  std::vector<const Instance*> instances = steady_instances(input);
  std::erase_if(instances, [](const Instance* i) { return i->function != Function::kAllReduce; });
  finding.evidence = evidence_of(input, instances);
  return {std::move(finding)};
}

std::vector<Finding> no_gradient_sync(const RuleInput& input) {
  const int64_t world =
      input.report.run.world_size.value_or(static_cast<int64_t>(input.digests.size()));
  if (input.digests.size() < 2 || world < 2 || input.matching == nullptr) return {};
  if (!input.matching->messages.empty()) return {};
  std::vector<int> ranks;
  for (const RankDigest& digest : input.digests) {
    if (updates_alone(input, digest)) ranks.push_back(digest.rank);
  }
  if (ranks.size() != input.digests.size()) return {};
  Finding finding = unpriced(FindingSeverity::kCritical, 0.8, "synchronisation");
  finding.ranks = ranks;
  finding.title =
      fmt::format("{} ranks update their parameters, and no gradient is exchanged", ranks.size());
  const auto barriers = std::ranges::count_if(input.matching->instances, [](const Instance& i) {
    return i.function == Function::kBarrier;
  });
  finding.detail = fmt::format(
      "in the recorded steps nothing but {} barriers passes between the ranks: each trains a model of its own",
      barriers);
  finding.decided_by = {
      fmt::format("each of {} ranks has an optimizer phase in its steps", ranks.size()),
      "no collective with data in backward or the optimizer, none of 64 KiB or more, no message"};
  finding.refuted_by = {"ranks that are meant to train models of their own (a search of settings)",
                        "gradients that are exchanged by a library that the trace does not see"};
  finding.evidence = evidence_of(input, ranks, Marker::kOptimizer);
  return {std::move(finding)};
}

std::vector<Finding> needless_barrier(const RuleInput& input) {
  std::vector<const Instance*> barriers = steady_instances(input);
  std::erase_if(barriers, [&](const Instance* i) {
    return i->function != Function::kBarrier || phase_of(input, *i) == Marker::kCheckpoint;
  });
  const int64_t steps = steady_steps(input);
  if (barriers.empty() || steps <= 0) return {};
  const double per = static_cast<double>(barriers.size()) / static_cast<double>(steps);
  const auto exposed = overlap_of(
      input, [](const CollectiveOverlap& c) { return c.function == Function::kBarrier; });
  const int64_t cost = exposed.transfer_ns + exposed.wait_ns;
  // One now and then, that costs nothing, is nobody's trouble.
  if (per < kMostSteps && share_of(input, cost) < kInfoShare) return {};
  Finding finding = priced(input, cost, 0.4, "synchronisation");
  finding.title =
      fmt::format("{:.1f} barriers a step that nothing needs: {}", per, per_step(input, cost));
  finding.detail = fmt::format(
      "all ranks meet in the gradients' collectives anyway; {}. "
      "Waiting for a rank that is late moves to the next collective when the barrier goes",
      kUpperBound);
  finding.decided_by = {
      fmt::format("{} barriers in {} steady steps, outside of checkpoints", barriers.size(), steps),
      fmt::format("{} of waiting and {} of passing through them, per step", ms(exposed.wait_ns),
                  ms(exposed.transfer_ns))};
  finding.refuted_by = {"something outside of the trace that all ranks must have done by then"};
  finding.evidence = evidence_of(input, barriers);
  return {std::move(finding)};
}

std::vector<Finding> buffer_broadcast(const RuleInput& input) {
  std::vector<const Instance*> broadcasts = steady_instances(input);
  std::erase_if(broadcasts, [&](const Instance* i) {
    return i->function != Function::kBroadcast || phase_of(input, *i) != Marker::kForward;
  });
  const int64_t steps = steady_steps(input);
  if (steps <= 0 ||
      static_cast<double>(broadcasts.size()) < kMostSteps * static_cast<double>(steps))
    return {};
  std::set<std::optional<int64_t>> sizes;
  for (const Instance* i : broadcasts) sizes.insert(i->bytes);
  const auto exposed = overlap_of(input, [&](const CollectiveOverlap& c) {
    return c.function == Function::kBroadcast && sizes.contains(c.bytes);
  });
  const int64_t cost = exposed.transfer_ns + exposed.wait_ns;
  if (share_of(input, cost) < kInfoShare) return {};
  Finding finding = priced(input, cost, 0.4, "network");
  finding.title = fmt::format("buffers are broadcast in each forward: {}", per_step(input, cost));
  finding.detail =
      fmt::format("{:.1f} broadcasts a step, at the begin of forward; {}",
                  static_cast<double>(broadcasts.size()) / static_cast<double>(steps), kUpperBound);
  finding.decided_by = {
      fmt::format("{} broadcasts in the forwards of {} steady steps", broadcasts.size(), steps)};
  finding.refuted_by = {"buffers that must be equal on all ranks during training"};
  finding.evidence = evidence_of(input, broadcasts);
  return {std::move(finding)};
}

std::vector<Finding> small_collectives(const RuleInput& input) {
  std::vector<const Instance*> small = steady_instances(input);
  std::erase_if(small, [&](const Instance* i) {
    const bool metric = i->function == Function::kAllReduce || gathers(i->function) ||
                        i->function == Function::kReduce || i->function == Function::kGather;
    if (!metric || i->bucket || i->bytes.value_or(kMetricBytes) >= kMetricBytes) return true;
    const Marker phase = phase_of(input, *i);
    return phase == Marker::kForward || phase == Marker::kBackward;
  });
  const int64_t steps = steady_steps(input);
  if (steps <= 0) return {};
  const double per = static_cast<double>(small.size()) / static_cast<double>(steps);
  if (per < kFewestMetrics) return {};
  int64_t transfer = 0;
  for (const Instance* i : small) transfer += i->transfer_ns;
  const int64_t cost = transfer / steps;
  if (share_of(input, cost) < kInfoShare) return {};
  Finding finding = priced(input, cost, 0.4, "network");
  finding.title = fmt::format("{:.1f} small collectives a step outside of forward and backward: {}",
                              per, per_step(input, cost));
  finding.detail = fmt::format(
      "of less than 64 KiB each, such as metrics; their transfers only, {}", kUpperBound);
  finding.decided_by = {fmt::format("{} in {} steady steps, in no bucket", small.size(), steps)};
  finding.refuted_by = {"the next step needs their results"};
  finding.evidence = evidence_of(input, small);
  return {std::move(finding)};
}

std::vector<Finding> gather_exposed(const RuleInput& input) {
  std::vector<const Instance*> gather = steady_instances(input);
  std::erase_if(gather, [&](const Instance* i) {
    if (!gathers(i->function)) return true;
    const Marker phase = phase_of(input, *i);
    return phase != Marker::kForward && phase != Marker::kBackward;
  });
  const int64_t steps = steady_steps(input);
  if (steps <= 0 || static_cast<double>(gather.size()) < kMostSteps * static_cast<double>(steps))
    return {};
  std::set<std::optional<int64_t>> sizes;
  for (const Instance* i : gather) sizes.insert(i->bytes);
  const auto exposed = overlap_of(input, [&](const CollectiveOverlap& c) {
    return gathers(c.function) && sizes.contains(c.bytes);
  });
  const int64_t cost = exposed.transfer_ns;
  if (share_of(input, cost) < kWarnShare) return {};
  Finding finding = priced(input, cost, 0.4, "network");
  finding.title = fmt::format("parameters are gathered when they are needed, not before: {}",
                              per_step(input, cost));
  finding.detail =
      fmt::format("{:.1f} all-gathers a step in forward and backward, with nothing beside them; {}",
                  static_cast<double>(gather.size()) / static_cast<double>(steps), kUpperBound);
  finding.decided_by = {fmt::format("exposed transfer of all-gathers in forward and backward: {}",
                                    per_step(input, cost))};
  finding.refuted_by = {"a run with prefetching that is no faster"};
  finding.evidence = evidence_of(input, gather);
  return {std::move(finding)};
}

std::vector<Finding> all_to_all_imbalance(const RuleInput& input) {
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
  if (ratios.empty() || median(ratios) <= kUnevenBytes) return {};
  const auto exposed = overlap_of(
      input, [](const CollectiveOverlap& c) { return c.function == Function::kAllToAll; });
  // An even division moves the mean, not the most.
  const double ratio = median(ratios);
  const int64_t cost =
      exposed.wait_ns +
      static_cast<int64_t>(static_cast<double>(exposed.transfer_ns) * (1 - 1 / ratio));
  if (share_of(input, cost) < kInfoShare) return {};
  const auto heaviest =
      std::ranges::max_element(bytes_of, {}, [](const auto& entry) { return entry.second; });
  Finding finding = priced(input, cost, 0.4, "input_imbalance");
  finding.title = fmt::format("all-to-alls are uneven, rank {} gives most: {}", heaviest->first,
                              per_step(input, cost));
  finding.detail =
      fmt::format("the rank that gives most has {:.2f} times the mean; {}", ratio, kUpperBound);
  finding.decided_by = {
      fmt::format("bytes per rank in {} all-to-alls: the most by the mean, median", uneven.size())};
  finding.refuted_by = {"ranks that wait in them for another reason: see the stragglers"};
  finding.evidence = evidence_of(input, uneven);
  return {std::move(finding)};
}

}  // namespace dprof::analyzer::comm
