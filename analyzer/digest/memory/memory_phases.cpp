// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/memory/memory_phases.h"

#include <algorithm>
#include <limits>

#include "analyzer/digest/memory/memory.h"

namespace dprof::analyzer {
namespace {

using schema::Marker;

constexpr TraceNs kFirst{std::numeric_limits<int64_t>::min()};

class Pieces {
 public:
  void add(TraceNs begin, Marker phase) {
    if (!pieces_.empty() && pieces_.back().begin == begin) {
      pieces_.back().phase = phase;
      if (pieces_.size() > 1 && pieces_[pieces_.size() - 2].phase == phase) pieces_.pop_back();
      return;
    }
    if (pieces_.empty() || pieces_.back().phase != phase) pieces_.push_back({begin, phase});
  }
  std::vector<MemoryPhase> take() { return std::move(pieces_); }

 private:
  std::vector<MemoryPhase> pieces_;
};

// If backward is not marked, autograd's nodes define it, including the time between nodes that no
// other phase and no step's end separates.
std::vector<Interval> backwards_of(const MemoryContext& so_far) {
  std::vector<TraceNs> separators;
  for (const PhaseRange& phase : so_far.phases) separators.push_back(phase.span.begin);
  for (const StepRecord& step : so_far.steps) separators.push_back(step.window.end);
  std::ranges::sort(separators);
  std::vector<Interval> backwards;
  for (const Interval& node : union_of(so_far.autograd, so_far.autograd_elsewhere)) {
    if (!backwards.empty()) {
      const auto next = std::ranges::upper_bound(separators, backwards.back().begin);
      if (next == separators.end() || *next > node.begin) {
        backwards.back().end = std::max(backwards.back().end, node.end);
        continue;
      }
    }
    backwards.push_back(node);
  }
  return backwards;
}

// The innermost range wins: ranges nest, and of two overlapping ones the later one counts.
std::vector<MemoryPhase> flattened(std::vector<std::pair<Interval, Marker>> ranges) {
  std::ranges::stable_sort(ranges, [](const auto& a, const auto& b) {
    if (a.first.begin != b.first.begin) return a.first.begin < b.first.begin;
    return a.first.end > b.first.end;
  });
  Pieces pieces;
  std::vector<std::pair<Interval, Marker>> open;
  const auto close_until = [&](TraceNs at) {
    while (!open.empty() && open.back().first.end <= at) {
      const TraceNs end = open.back().first.end;
      open.pop_back();
      while (!open.empty() && open.back().first.end <= end) open.pop_back();
      pieces.add(end, open.empty() ? Marker::kNone : open.back().second);
    }
  };
  pieces.add(kFirst, Marker::kNone);
  for (const auto& range : ranges) {
    if (range.first.empty()) continue;
    close_until(range.first.begin);
    pieces.add(range.first.begin, range.second);
    open.push_back(range);
  }
  close_until({std::numeric_limits<int64_t>::max()});
  return pieces.take();
}

void add_forwards(std::vector<MemoryPhase>& pieces) {
  for (size_t i = 0; i + 1 < pieces.size(); ++i) {
    if (i > 0 && pieces[i].phase == Marker::kNone && pieces[i + 1].phase == Marker::kBackward)
      pieces[i].phase = Marker::kForward;
  }
}

}  // namespace

std::vector<MemoryPhase> phase_pieces(const MemoryContext& so_far) {
  std::vector<std::pair<Interval, Marker>> ranges;
  bool has_forward = false;
  bool has_backward = false;
  for (const PhaseRange& phase : so_far.phases) {
    ranges.emplace_back(phase.span, phase.marker);
    has_forward = has_forward || phase.marker == Marker::kForward;
    has_backward = has_backward || phase.marker == Marker::kBackward;
  }
  if (!has_backward) {
    for (const Interval& backward : backwards_of(so_far))
      ranges.emplace_back(backward, Marker::kBackward);
  }
  std::vector<MemoryPhase> pieces = flattened(std::move(ranges));
  if (!has_forward) add_forwards(pieces);
  return pieces;
}

size_t piece_at(const std::vector<MemoryPhase>& pieces, TraceNs at) {
  const auto next = std::ranges::upper_bound(pieces, at, {}, &MemoryPhase::begin);
  return next == pieces.begin() ? pieces.size() : static_cast<size_t>(next - pieces.begin()) - 1;
}

}  // namespace dprof::analyzer
