// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/thread_sketch.h"

#include <algorithm>
#include <map>

namespace dprof::analyzer {

using schema::Marker;

void IntervalGatherer::add(Interval interval) {
  if (interval.empty()) return;
  if (!intervals_.empty()) {
    Interval& last = intervals_.back();
    if (interval.begin >= last.begin && interval.begin <= last.end) {
      last.end = std::max(last.end, interval.end);
      return;
    }
    if (interval.begin < last.begin) ordered_ = false;
  }
  intervals_.push_back(interval);
}

IntervalSet IntervalGatherer::take() {
  if (ordered_) return std::move(intervals_);
  return union_of(std::move(intervals_));
}

void ThreadSketch::add(const RangeKind& kind, std::string_view name, Interval span, int64_t row,
                       bool open) {
  if (kind.marks && !open) marks.add(name, span);
  switch (kind.what) {
    case RangeClass::kMarker:
      if (kind.marker == Marker::kStep) {
        step_marks.push_back({span, std::string(name.substr(0, name.find('#'))), open});
      } else {
        phases.push_back({span, kind.marker, row});
      }
      return;
    case RangeClass::kAutograd:
      return autograd.add(span);
    case RangeClass::kOp:
      return ops.add(span);
    case RangeClass::kWait:
      return waits.add(span);
    case RangeClass::kNamed:
      return named.add(span);
    case RangeClass::kAllocation:
      allocations.add(span);
      return named.add(span);
    case RangeClass::kGc:
      gc.add(span);
      return named.add(span);
    case RangeClass::kLogging:
      logging.add(span);
      return named.add(span);
    case RangeClass::kProfiler:
      return profiler.add(span);
    case RangeClass::kCall:
    case RangeClass::kHolder:
    case RangeClass::kMoment:
      return;
  }
}

void ThreadSketch::add_numbered(int64_t sequence, Interval span) {
  NumberedOp* last = numbered_ops.empty() ? nullptr : &numbered_ops.back();
  if (last != nullptr && span.begin < last->span.end) return;  // within the previous one
  if (last != nullptr && last->sequence == sequence) {
    last->span = span;
  } else {
    numbered_ops.push_back({sequence, span});
  }
}

void ThreadSketch::add_token(const RangeKind& kind, int64_t name_id, Interval span) {
  if (kind.launches_graph) return tokens.add(name_id, span.begin);
  if (kind.what != RangeClass::kOp && kind.what != RangeClass::kAutograd) return;
  if (span.begin < token_until) return;
  tokens.add(name_id, span.begin);
  token_until = span.end;
}

void end_at_next_if_rounded(Interval& step, Interval next) {
  constexpr int64_t kMostRoundingNs = 1000;
  const int64_t overlap = (step.end - next.begin).ns;
  const int64_t shorter = std::min(step.length().ns, next.length().ns);
  const bool neighbours = next.begin > step.begin && next.end > step.end;
  if (neighbours && overlap > 0 && overlap <= std::min(kMostRoundingNs, shorter / 10))
    step.end = next.begin;
}

std::vector<StepMark> steps_from_marks(std::vector<StepMark> marks) {
  std::map<std::string, int64_t> count;
  for (const StepMark& mark : marks) ++count[mark.source];
  if (count.empty()) return {};
  const std::string source =
      std::ranges::max_element(count, {}, [](const auto& entry) { return entry.second; })->first;
  std::erase_if(marks, [&](const StepMark& mark) { return mark.source != source; });
  std::ranges::stable_sort(marks, {}, [](const StepMark& mark) { return mark.span.begin; });
  std::vector<StepMark> steps;
  for (StepMark& mark : marks) {
    if (!steps.empty()) {
      end_at_next_if_rounded(steps.back().span, mark.span);
      if (mark.span.begin < steps.back().span.end) continue;
    }
    steps.push_back(std::move(mark));
  }
  return steps;
}

namespace {

bool begins_within(const IntervalSet& set, Interval window) {
  const auto first = std::ranges::lower_bound(set, window.begin, {}, &Interval::begin);
  return first != set.end() && first->begin < window.end;
}

}  // namespace

std::vector<StepMark> steps_from_optimizer(const std::vector<PhaseRange>& phases,
                                           const IntervalSet& autograd) {
  std::vector<TraceNs> ends;
  TraceNs covered_to{INT64_MIN};
  bool trained_between = true;
  for (const PhaseRange& phase : phases) {
    if (phase.marker == Marker::kForward) trained_between = true;
    if (phase.marker != Marker::kOptimizer || phase.span.begin < covered_to) continue;
    trained_between =
        trained_between || ends.empty() || begins_within(autograd, {ends.back(), phase.span.begin});
    if (trained_between) {
      ends.push_back(phase.span.end);
    } else {
      ends.back() = phase.span.end;
    }
    covered_to = phase.span.end;
    trained_between = false;
  }
  std::vector<StepMark> steps;
  for (size_t i = 1; i < ends.size(); ++i) steps.push_back({{ends[i - 1], ends[i]}, "optimizer"});
  return steps;
}

}  // namespace dprof::analyzer
