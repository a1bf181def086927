// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/gpu_host.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace dprof::analyzer {
namespace {

using schema::Marker;
using schema::RangeCategory;

// The class of the range itself; nullopt = that of the enclosing range.
std::optional<HostClass> own_class(RangeClass what, Marker marker) {
  switch (what) {
    case RangeClass::kMarker:
      if (marker == Marker::kInput) return HostClass::kInput;
      if (marker == Marker::kCheckpoint) return HostClass::kCheckpoint;
      if (marker == Marker::kOptimizer) return HostClass::kOptimizer;
      return std::nullopt;
    case RangeClass::kWait:
      return HostClass::kCollectiveWait;
    case RangeClass::kAllocation:
      return HostClass::kAllocation;
    case RangeClass::kGc:
      return HostClass::kGc;
    case RangeClass::kLogging:
      return HostClass::kLogging;
    default:
      return std::nullopt;
  }
}

Marker own_phase(RangeClass what, Marker marker) {
  if (what == RangeClass::kAutograd) return Marker::kBackward;
  return marker == Marker::kStep ? Marker::kNone : marker;
}

}  // namespace

HostState HostThread::state_at(TraceNs at) const {
  const auto next = std::ranges::upper_bound(pieces, at, {}, &Piece::begin);
  return next == pieces.begin() ? HostState{} : std::prev(next)->state;
}

TraceNs HostThread::next_change(TraceNs at) const {
  const auto next = std::ranges::upper_bound(pieces, at, {}, &Piece::begin);
  return next == pieces.end() ? TraceNs{INT64_MAX} : next->begin;
}

int32_t HostSide::thread_number(int64_t id) {
  const size_t number = numbers_.of(id);
  if (number >= threads_.size()) threads_.resize(number + 1);
  return static_cast<int32_t>(number);
}

ApiClass HostSide::api_class(int64_t name_id, std::string_view name) {
  if (name_id < 0 || name_id > int64_t{1} << 24) return api_class_of(name);
  const auto index = static_cast<size_t>(name_id);
  if (index >= api_classes_.size()) api_classes_.resize(index + 1);
  if (!api_classes_[index]) api_classes_[index] = api_class_of(name);
  return *api_classes_[index];
}

void HostSide::add_call(const schema::HostRangeRow& row, std::string_view name, Interval span) {
  const int32_t number = thread_number(row.thread_id);
  Walk& walk = threads_[static_cast<size_t>(number)];
  if (row.correlation) launches_.push_back({span.begin, *row.correlation, number});
  const ApiClass what = api_class(row.name_id, name);
  if (what == ApiClass::kBlocking) walk.blocking.add(span);
  if (what == ApiClass::kAsyncCopy) walk.copies.add(span);
  if (what == ApiClass::kAllocation) walk.allocations.add(span);
}

void HostSide::add_loader_wait(int64_t thread_id, Interval span) {
  threads_[static_cast<size_t>(thread_number(thread_id))].input.add(span);
}

void HostSide::add(const schema::HostRangeRow& row, const RangeKind& kind, std::string_view name,
                   Interval span) {
  switch (row.category) {
    case RangeCategory::kApi:
      return add_call(row, name, span);
    case RangeCategory::kOverhead:
      if (kind.what == RangeClass::kProfiler)
        threads_[static_cast<size_t>(thread_number(row.thread_id))].profiler.add(span);
      return;
    case RangeCategory::kNvtxProcess:  // belongs to no thread: a label, never a parent
    case RangeCategory::kNvtxMark:
      return;
    default:
      break;
  }
  Walk& walk = threads_[static_cast<size_t>(thread_number(row.thread_id))];
  ++walk.done.ranges;
  if (kind.what == RangeClass::kAutograd) {
    walk.done.has_autograd = true;
    walk.nodes.push_back(span.begin);
  }
  if (kind.what == RangeClass::kMarker && kind.marker != Marker::kStep) ++walk.done.phases;
  if (kind.marker == Marker::kForward) forward_marked_ = true;
  if (kind.marker == Marker::kOptimizer) optimizer_marked_ = true;
  // A step or micro-step only contains its work.
  if (kind.what == RangeClass::kMarker && kind.marker == Marker::kStep) return;
  if (kind.what == RangeClass::kHolder || span.empty()) return;
  span.begin = std::max(span.begin, walk.latest);
  if (span.empty()) return;
  enter(walk, kind, span);
}

void HostSide::say(Walk& walk, TraceNs from, HostState state) {
  std::vector<HostThread::Piece>& pieces = walk.done.pieces;
  if (!pieces.empty() && pieces.back().begin >= from) {
    from = pieces.back().begin;
    pieces.pop_back();
  }
  if (pieces.empty() ? state == HostState{} : pieces.back().state == state) return;
  pieces.push_back({from, state});
}

void HostSide::close(Walk& walk, TraceNs at) {
  TraceNs now{INT64_MIN};  // an inner range can end after the outer one
  walk.open.close_until(at, [&](const OpenRanges<Tag>::Open& gone) {
    now = std::max(now, gone.end);
    const auto* around = walk.open.innermost(now);
    say(walk, now, around == nullptr ? HostState{} : around->tag.state);
  });
}

void HostSide::enter(Walk& walk, const RangeKind& kind, Interval span) {
  close(walk, span.begin);
  walk.latest = span.begin;
  const size_t place = walk.open.push({span.begin, span.end, {kind.what, kind.marker, {}}});
  const auto* around = walk.open.covering(span.begin, place);
  HostState state = around == nullptr ? HostState{} : around->tag.state;
  // Shorter ranges with the same begin are within it.
  for (OpenRanges<Tag>::Open& open : walk.open.all().subspan(place)) {
    const std::optional<HostClass> own = own_class(open.tag.own, open.tag.marker);
    const Marker phase = own_phase(open.tag.own, open.tag.marker);
    if (own || state.what == HostClass::kNone) state.what = own.value_or(HostClass::kRange);
    if (phase != Marker::kNone) state.phase = phase;
    open.tag.state = state;
  }
  say(walk, span.begin, state);
}

void HostSide::finish() {
  for (Walk& walk : threads_) {
    close(walk, {INT64_MAX});
    walk.done.blocking = walk.blocking.take();
    std::ranges::copy(walk.done.blocking, std::back_inserter(device_waits_));
    std::ranges::copy(walk.copies.take(), std::back_inserter(device_waits_));
    walk.done.allocations = walk.allocations.take();
    walk.done.profiler = walk.profiler.take();
    walk.done.input = walk.input.take();
  }
  const auto likelihood = [](const Walk& walk) {
    return std::tuple(walk.done.phases, walk.done.ranges);
  };
  const auto most = std::ranges::max_element(threads_, {}, likelihood);
  if (most == threads_.end()) return;
  training_ = static_cast<int32_t>(most - threads_.begin());
  if (forward_marked_ || !optimizer_marked_) return;
  forwards_ = unmarked_forwards();
  set_forward(*most, forwards_);
}

// The training thread waits while others run a backward: what it launched until then came before.
IntervalSet HostSide::unmarked_forwards() const {
  std::vector<TraceNs> nodes;
  for (size_t t = 0; t < threads_.size(); ++t) {
    if (static_cast<int32_t>(t) != training_)
      std::ranges::copy(threads_[t].nodes, std::back_inserter(nodes));
  }
  std::vector<TraceNs> calls;
  for (const LaunchCall& call : launches_) {
    if (call.thread == training_) calls.push_back(call.at);
  }
  const HostThread& own = thread(training_);
  std::vector<TraceNs> borders;  // begins and ends of phases
  Marker phase = Marker::kNone;
  for (const HostThread::Piece& piece : own.pieces) {
    if (std::exchange(phase, piece.state.phase) != piece.state.phase)
      borders.push_back(piece.begin);
  }
  for (const Interval& wait : own.input) borders.push_back(wait.begin);
  for (std::vector<TraceNs>* times : {&nodes, &calls, &borders}) std::ranges::sort(*times);

  IntervalSet forwards;
  for (auto call = calls.begin(); call != calls.end();) {
    const TraceNs first = *call;
    const auto node = std::ranges::upper_bound(nodes, first);
    if (node == nodes.end()) break;
    const auto border = std::ranges::upper_bound(borders, first);
    const bool before_backward = border == borders.end() || *node < *border;
    call = std::ranges::lower_bound(call, calls.end(), before_backward ? *node : *border);
    if (before_backward && own.state_at(first).phase == Marker::kNone)
      forwards.push_back({first, *std::prev(call) + DurationNs{1}});
  }
  return forwards;
}

void HostSide::set_forward(Walk& walk, const IntervalSet& forwards) {
  const std::vector<HostThread::Piece> before = std::exchange(walk.done.pieces, {});
  auto piece = before.begin();
  HostState now;
  const auto say_until = [&](TraceNs end, Marker phase) {
    for (; piece != before.end() && piece->begin < end; ++piece) {
      now = piece->state;
      say(walk, piece->begin, phase == Marker::kNone ? now : HostState{now.what, phase});
    }
  };
  for (const Interval& forward : forwards) {
    say_until(forward.begin, Marker::kNone);
    say(walk, forward.begin, {now.what, Marker::kForward});
    say_until(forward.end, Marker::kForward);
    say(walk, forward.end, now);
  }
  say_until({INT64_MAX}, Marker::kNone);
}

Marker HostSide::phase_of(const LaunchCall& launch) const {
  const HostThread& own = thread(launch.thread);
  const Marker phase = own.state_at(launch.at).phase;
  if (phase != Marker::kNone || launch.thread == training_) return phase;
  if (own.has_autograd) return Marker::kBackward;
  return thread(training_).state_at(launch.at).phase;
}

}  // namespace dprof::analyzer
