// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/clock_map.h"

#include <algorithm>

namespace dprof::analyzer {
namespace {

using Knot = ClockMap::Knot;

struct Place {
  const Knot* before;
  const Knot* after;
};

TraceNs axis_of(const Knot& knot) { return {knot.local.ns - knot.offset_ns}; }

template <typename TimeOf>
Place place_of(const std::vector<Knot>& knots, TraceNs time, TimeOf time_of) {
  const auto after = std::ranges::upper_bound(knots, time, {}, time_of);
  if (after == knots.begin()) return {&knots.front(), &knots.front()};
  if (after == knots.end()) return {&knots.back(), &knots.back()};
  return {&*std::prev(after), &*after};
}

int64_t between(TraceNs at, TraceNs begin, TraceNs end, int64_t from, int64_t to) {
  const int64_t length = (end - begin).ns;
  if (length <= 0) return from;
  const double share = static_cast<double>((at - begin).ns) / static_cast<double>(length);
  return from + static_cast<int64_t>(share * static_cast<double>(to - from));
}

std::optional<int64_t> bound_of(const Place& place) {
  if (!place.before->bound_ns || !place.after->bound_ns) return std::nullopt;
  return std::max(*place.before->bound_ns, *place.after->bound_ns);
}

}  // namespace

ClockMap::ClockMap(std::vector<Knot> knots) : knots_(std::move(knots)) {
  for (size_t i = 1; i < knots_.size(); ++i) {
    const int64_t most = knots_[i - 1].offset_ns + (knots_[i].local - knots_[i - 1].local).ns;
    if (knots_[i].offset_ns <= most) continue;
    if (knots_[i].bound_ns) *knots_[i].bound_ns += knots_[i].offset_ns - most;
    knots_[i].offset_ns = most;
  }
}

int64_t ClockMap::offset_at(TraceNs local) const {
  if (knots_.empty()) return 0;
  const auto [before, after] = place_of(knots_, local, &Knot::local);
  return between(local, before->local, after->local, before->offset_ns, after->offset_ns);
}

TraceNs ClockMap::to_axis(TraceNs local) const { return {local.ns - offset_at(local)}; }

TraceNs ClockMap::from_axis(TraceNs axis) const {
  if (knots_.empty()) return axis;
  const auto [before, after] = place_of(knots_, axis, axis_of);
  return {axis.ns +
          between(axis, axis_of(*before), axis_of(*after), before->offset_ns, after->offset_ns)};
}

std::optional<int64_t> ClockMap::bound_at(TraceNs local) const {
  if (knots_.empty()) return 0;
  return bound_of(place_of(knots_, local, &Knot::local));
}

std::optional<int64_t> ClockMap::bound_on_axis(TraceNs axis) const {
  if (knots_.empty()) return 0;
  return bound_of(place_of(knots_, axis, axis_of));
}

ClockMap composed(const ClockMap& inner, const ClockMap& outer) {
  if (inner.is_identity()) return outer;
  if (outer.is_identity()) return inner;
  std::vector<TraceNs> times;
  for (const Knot& knot : inner.knots()) times.push_back(knot.local);
  for (const Knot& knot : outer.knots()) times.push_back(inner.from_axis(knot.local));
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  std::vector<Knot> knots;
  for (const TraceNs local : times) {
    const TraceNs middle = inner.to_axis(local);
    Knot knot{local, (local - outer.to_axis(middle)).ns, std::nullopt};
    const std::optional<int64_t> near = inner.bound_at(local);
    const std::optional<int64_t> far = outer.bound_at(middle);
    if (near && far) knot.bound_ns = *near + *far;
    knots.push_back(knot);
  }
  return ClockMap(std::move(knots));
}

ClockMap inverse_of(const ClockMap& map) {
  std::vector<Knot> knots;
  for (const Knot& knot : map.knots())
    knots.push_back({axis_of(knot), -knot.offset_ns, knot.bound_ns});
  return ClockMap(std::move(knots));
}

std::optional<int64_t> RankClocks::bound_between(size_t rank, TraceNs at, size_t other,
                                                 TraceNs other_at) const {
  int64_t recorders = 0;
  if (!clock_of.empty()) {
    const bool one_clock = clock_of[rank] == clock_of[other];
    if (one_clock && recorder_of[rank] == recorder_of[other]) return 0;
    recorders = recorder_bound_ns[rank] + recorder_bound_ns[other];
    if (one_clock) return recorders;
  }
  const std::optional<int64_t> mine = maps[rank].bound_on_axis(at);
  const std::optional<int64_t> theirs = maps[other].bound_on_axis(other_at);
  if (!mine || !theirs) return std::nullopt;
  return *mine + *theirs + recorders;
}

}  // namespace dprof::analyzer
