// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/phases.h"

#include <algorithm>

namespace dprof::analyzer {
namespace {

using schema::Marker;

// A collective that the training thread called.
struct CommCall {
  TraceNs at;
  TraceNs begin;  // of the transfer or of the wait for it, if known
  TraceNs end;
};

std::vector<CommCall> calls_of(const RankDigest& digest) {
  std::vector<CommCall> calls;
  for (const CollectiveRecord& record : digest.collectives) {
    const auto at = record.arrival();
    if (at && record.by_training_thread)
      calls.push_back({*at, record.start.value_or(*at), record.end.value_or(digest.span.end)});
  }
  std::ranges::sort(calls, {}, &CommCall::at);
  return calls;
}

std::span<const CommCall> calls_within(const std::vector<CommCall>& calls, Interval window) {
  const auto first = std::ranges::lower_bound(calls, window.begin, {}, &CommCall::at);
  const auto end = std::ranges::lower_bound(calls, window.end, {}, &CommCall::at);
  return first < end ? std::span<const CommCall>(first, end) : std::span<const CommCall>();
}

// Begins and ends of phases end a run of autograd nodes outside all phases; so does the next
// forward.
std::vector<TraceNs> borders_of(const RankDigest& digest, const IntervalSet& forwards) {
  std::vector<TraceNs> borders;
  for (const PhaseRange& phase : digest.phases) {
    borders.push_back(phase.span.begin);
    borders.push_back(phase.span.end);
  }
  for (const StepRecord& step : digest.steps) {
    borders.push_back(step.window.begin);
    borders.push_back(step.window.end);
  }
  for (const Interval& sign : forwards) borders.push_back(sign.begin);
  std::ranges::sort(borders);
  return borders;
}

TraceNs next_border(const std::vector<TraceNs>& borders, TraceNs after) {
  const auto next = std::ranges::upper_bound(borders, after);
  return next == borders.end() ? TraceNs{INT64_MAX} : *next;
}

IntervalSet backward_marked(const RankDigest& digest) {
  std::vector<Interval> marked;
  for (const PhaseRange& phase : digest.phases) {
    if (phase.marker == Marker::kBackward) marked.push_back(phase.span);
  }
  return union_of(std::move(marked));
}

// Signs of an unmarked forward. Recomputation within backward is not a forward.
IntervalSet signs_of_forward(const RankDigest& digest) {
  if (digest.forward_signs.empty()) return {};
  std::vector<Interval> taken(digest.autograd);
  for (const PhaseRange& phase : digest.phases) taken.push_back(phase.span);
  const IntervalSet outside = difference_of(digest.forward_signs, union_of(std::move(taken)));
  return difference_of(outside, digest.autograd_elsewhere);
}

// From the first to the last sign of each; a phase, a step or a backward node ends it.
void add_forwards(const RankDigest& digest, const IntervalSet& signs, std::vector<TraceNs> borders,
                  std::vector<PhaseRange>& phases) {
  for (const IntervalSet* nodes : {&digest.autograd, &digest.autograd_elsewhere}) {
    for (const Interval& node : *nodes) borders.push_back(node.begin);
  }
  std::ranges::sort(borders);
  for (size_t i = 0; i < signs.size();) {
    const TraceNs border = next_border(borders, signs[i].begin);
    Interval run = signs[i];
    for (++i; i < signs.size() && signs[i].begin < border; ++i) run.end = signs[i].end;
    phases.push_back({run, Marker::kForward, 0});
  }
}

// From the last sign of computation in a backward until the last collective that it called ends.
Interval tail_of(const PhaseRange& backward, const RankDigest& digest,
                 std::span<const CommCall> calls) {
  TraceNs begin = calls.back().at;
  const auto next =
      std::ranges::lower_bound(digest.autograd, backward.span.end, {}, &Interval::begin);
  if (next != digest.autograd.begin())
    begin = std::max(begin, std::min(std::prev(next)->end, backward.span.end));
  TraceNs end = begin;
  for (const CommCall& call : calls) end = std::max(end, call.end);
  return {begin, std::min(end, backward.span.end)};
}

// A waiting thread continues within this time after the collective's end, or this share of its
// duration. A thread that slept for other reasons continues at an unrelated time.
constexpr int64_t kGoesOnWithinNs = 100'000;
constexpr double kGoesOnWithin = 0.1;

TraceNs next_begin(const IntervalSet& set, TraceNs at) {
  const auto next = std::ranges::lower_bound(set, at, {}, &Interval::begin);
  return next != set.end() ? next->begin : TraceNs{INT64_MAX};
}

// Empty, before everything, if none has begun.
Interval last_begun(const IntervalSet& set, TraceNs at) {
  const auto after = std::ranges::upper_bound(set, at, {}, &Interval::begin);
  return after == set.begin() ? Interval{{INT64_MIN}, {INT64_MIN}} : *std::prev(after);
}

// Calls between two nodes, as in FSDP's hooks.
void add_between_nodes(const RankDigest& digest, std::span<const CommCall> calls,
                       std::vector<Interval>& blocked) {
  for (const CommCall& call : calls) {
    const TraceNs node = next_begin(digest.autograd, call.at);
    if (node == TraceNs{INT64_MAX} || node < call.end) continue;
    const DurationNs length = call.end - call.at;
    const auto patience = std::max(
        kGoesOnWithinNs, static_cast<int64_t>(kGoesOnWithin * static_cast<double>(length.ns)));
    const TraceNs goes_on = std::min(node, next_begin(digest.ops, call.end));
    if ((goes_on - call.end).ns <= patience) blocked.push_back({call.begin, call.end});
  }
}

}  // namespace

std::vector<PhaseRange> with_inferred_phases(const RankDigest& digest) {
  std::vector<PhaseRange> phases = digest.phases;
  const IntervalSet unmarked = difference_of(digest.autograd, backward_marked(digest));
  const IntervalSet signs = signs_of_forward(digest);
  const std::vector<TraceNs> borders = borders_of(digest, signs);
  const std::vector<CommCall> calls = calls_of(digest);
  for (size_t i = 0; i < unmarked.size();) {
    const TraceNs border = next_border(borders, unmarked[i].begin);
    Interval run = unmarked[i];
    for (++i; i < unmarked.size() && unmarked[i].begin < border; ++i) run.end = unmarked[i].end;
    for (const CommCall& call : calls_within(calls, {run.begin, std::max(border, run.end)}))
      run.end = std::max(run.end, std::min(call.end, border));
    phases.push_back({run, Marker::kBackward, 0});
  }
  add_forwards(digest, signs, borders_of(digest, {}), phases);
  std::ranges::stable_sort(phases, {}, [](const PhaseRange& p) { return p.span.begin; });
  return phases;
}

Marker inferred_phase_at(const RankDigest& digest, TraceNs at) {
  const auto phase_after = std::ranges::upper_bound(
      digest.phases, at, {}, [](const PhaseRange& p) { return p.span.begin; });
  const auto step_after = std::ranges::upper_bound(
      digest.steps, at, {}, [](const StepRecord& s) { return s.window.begin; });
  TraceNs border{INT64_MIN};
  const auto consider = [&](const Interval& span) {
    border = std::max({border, span.begin, span.end <= at ? span.end : span.begin});
  };
  auto phase = std::make_reverse_iterator(phase_after);
  for (size_t looked = 0; phase != digest.phases.rend() && looked < kDeepestPhase; ++looked)
    consider((phase++)->span);
  if (step_after != digest.steps.begin()) consider(std::prev(step_after)->window);

  const Interval node =
      std::ranges::max(last_begun(digest.autograd, at), last_begun(digest.autograd_elsewhere, at),
                       {}, &Interval::begin);
  const Interval sign = last_begun(digest.forward_signs, at);
  // A sign within a node is computed again, for that node.
  if (node.begin > border && sign.begin < node.end) return Marker::kBackward;
  if (sign.begin <= border || sign.begin < node.end) return Marker::kNone;
  TraceNs end =
      std::min(next_begin(digest.autograd, at), next_begin(digest.autograd_elsewhere, at));
  if (phase_after != digest.phases.end()) end = std::min(end, phase_after->span.begin);
  if (step_after != digest.steps.end()) end = std::min(end, step_after->window.begin);
  const bool goes_on = at < sign.end || next_begin(digest.forward_signs, at) < end;
  return goes_on ? Marker::kForward : Marker::kNone;
}

std::vector<PhasePiece> innermost(std::vector<PhaseRange> phases) {
  std::erase_if(phases, [](const PhaseRange& p) { return p.span.empty(); });
  std::ranges::stable_sort(phases, {}, [](const PhaseRange& p) { return p.span.begin; });
  std::vector<TraceNs> borders;
  for (const PhaseRange& phase : phases) {
    borders.push_back(phase.span.begin);
    borders.push_back(phase.span.end);
  }
  std::ranges::sort(borders);
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());

  std::vector<PhasePiece> pieces;
  std::vector<const PhaseRange*> active;  // in order of begin: the last one is the innermost
  size_t next = 0;
  for (size_t b = 0; b + 1 < borders.size(); ++b) {
    std::erase_if(active, [&](const PhaseRange* p) { return p->span.end <= borders[b]; });
    for (; next < phases.size() && phases[next].span.begin == borders[b]; ++next)
      active.push_back(&phases[next]);
    if (!active.empty()) pieces.push_back({{borders[b], borders[b + 1]}, active.back()->marker});
  }
  return pieces;
}

IntervalSet blocked_times(const RankDigest& digest, const std::vector<PhaseRange>& phases) {
  const std::vector<CommCall> calls = calls_of(digest);
  std::vector<Interval> in_phase;
  for (const PhaseRange& phase : phases) {
    const std::span<const CommCall> called = calls_within(calls, phase.span);
    if (called.empty()) continue;
    if (phase.marker == Marker::kBackward) {
      in_phase.push_back(tail_of(phase, digest, called));
      add_between_nodes(digest, called, in_phase);
      continue;
    }
    for (const CommCall& call : called)
      in_phase.push_back({call.at, std::min(call.end, phase.span.end)});
  }
  std::vector<Interval> in_node;
  for (const Interval& node : digest.autograd) {
    for (const CommCall& call : calls_within(calls, node))
      in_node.push_back({call.at, std::min(call.end, node.end)});
  }
  const IntervalSet presumed = union_of(
      difference_of(union_of(std::move(in_phase)), digest.autograd), union_of(std::move(in_node)));
  return union_of(difference_of(presumed, digest.ops), digest.waits);
}

}  // namespace dprof::analyzer
