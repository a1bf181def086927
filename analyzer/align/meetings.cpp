// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/meetings.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dprof::analyzer {
namespace {

using schema::Function;

constexpr double kReachNs = 1.0 * kNsPerSecond;        // how far evidence reaches from a knot
constexpr double kKnotWindowNs = 10.0 * kNsPerSecond;  // between knots: how well a drift is known
constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 4;

bool is_a_meeting(const Instance& instance) {
  if (!instance.comparable || !is_synchronising(instance.function)) return false;
  if (instance.function == Function::kAllToAll) return false;
  // Without bytes no rank waits, except in a barrier.
  return instance.function == Function::kBarrier || instance.bytes != 0;
}

// The interval of a meeting, as the clocks of known maps saw it.
struct KnownTimes {
  int64_t last_start = -kNever;  // at least one had not begun before this
  int64_t first_end = kNever;    // and at least one had ended by this
  std::vector<int64_t> ends;

  void add_limits(const MeetingPart& part, const ClockMap& map) {
    const std::optional<int64_t> begin_bound = map.bound_at(part.last_start);
    const std::optional<int64_t> end_bound = map.bound_at(part.first_end);
    if (!begin_bound || !end_bound) return;
    last_start = std::max(last_start, map.to_axis(part.last_start).ns - *begin_bound);
    first_end = std::min(first_end, map.to_axis(part.first_end).ns + *end_bound);
  }

  [[nodiscard]] int64_t usual_end() {
    const auto middle = ends.begin() + static_cast<ptrdiff_t>(ends.size() / 2);
    std::ranges::nth_element(ends, middle);
    if (ends.size() % 2 == 1) return *middle;
    const int64_t below = *std::ranges::max_element(ends.begin(), middle);
    return below + (*middle - below) / 2;
  }
};

// The two knots of a reset are adjacent: evidence on one side says nothing about the other.
bool is_at_reset(const std::vector<ClockMap::Knot>& knots, size_t k) {
  const auto beside = [&](size_t i) { return knots[i + 1].local.ns - knots[i].local.ns <= 1; };
  return (k > 0 && beside(k - 1)) || (k + 1 < knots.size() && beside(k));
}

}  // namespace

Meetings::Meetings(std::span<const RankDigest> digests, const Matching& matching,
                   std::span<const size_t> clock_of) {
  std::vector<size_t> place_of;  // by clock: position of its last part
  for (const Instance& instance : matching.instances) {
    if (!is_a_meeting(instance)) continue;
    const size_t begin = parts_.size();
    for (const Member& member : instance.members) {
      const CollectiveRecord& record = digests[member.digest].collectives[member.record];
      if (!record.start || !record.end) continue;
      const size_t clock = clock_of[member.digest];
      if (clock >= place_of.size()) place_of.resize(clock + 1, SIZE_MAX);
      const size_t place = place_of[clock];
      if (place == SIZE_MAX || place < begin) {
        place_of[clock] = parts_.size();
        parts_.push_back({clock, *record.start, *record.end});
        continue;
      }
      parts_[place].last_start = std::max(parts_[place].last_start, *record.start);
      parts_[place].first_end = std::min(parts_[place].first_end, *record.end);
    }
    if (parts_.size() > begin) begins_.push_back(parts_.size());
  }
}

std::vector<Cloud> clouds_of(const Meetings& meetings, const ClockMaps& known,
                             const ClockMaps& guessed, const std::vector<bool>& wanted) {
  std::vector<Cloud> clouds(known.size());
  for (size_t m = 0; m < meetings.size(); ++m) {
    const std::span<const MeetingPart> parts = meetings.parts(m);
    if (std::ranges::none_of(parts, [&](const MeetingPart& p) { return wanted[p.clock]; }))
      continue;
    KnownTimes times;
    for (const MeetingPart& part : parts) {
      if (known[part.clock]) times.add_limits(part, *known[part.clock]);
      if (guessed[part.clock])
        times.ends.push_back(guessed[part.clock]->to_axis(part.first_end).ns);
    }
    if (times.last_start == -kNever || times.ends.empty()) continue;
    const int64_t usual_end = times.usual_end();
    for (const MeetingPart& part : parts) {
      if (!wanted[part.clock]) continue;
      Cloud& cloud = clouds[part.clock];
      cloud.at_least(part.last_start, part.last_start.ns - times.first_end);
      cloud.at_most(part.first_end, part.first_end.ns - times.last_start);
      cloud.about(part.first_end, part.first_end.ns - usual_end);
    }
  }
  return clouds;
}

std::vector<bool> reachable(const Meetings& meetings, const ClockMaps& known) {
  std::vector<bool> found(known.size());
  for (size_t m = 0; m < meetings.size(); ++m) {
    const std::span<const MeetingPart> parts = meetings.parts(m);
    const bool meets_known = std::ranges::any_of(
        parts, [&](const MeetingPart& p) { return known[p.clock].has_value(); });
    if (!meets_known) continue;
    for (const MeetingPart& part : parts) {
      if (!known[part.clock]) found[part.clock] = true;
    }
  }
  return found;
}

bool tighten(ClockMap& map, const Cloud& cloud) {
  bool changed = false;
  std::vector<ClockMap::Knot> knots = map.knots();
  for (size_t k = 0; k < knots.size(); ++k) {
    ClockMap::Knot& knot = knots[k];
    if (!knot.bound_ns || is_at_reset(map.knots(), k)) continue;
    const double at = static_cast<double>((knot.local - cloud.time_of(0)).ns);
    int64_t least = -*knot.bound_ns;  // of the correction to the offset
    int64_t most = *knot.bound_ns;
    const auto look = [&](const std::vector<Point>& points, auto&& take) {
      for (auto p = std::ranges::lower_bound(points, at - kReachNs, {}, &Point::t);
           p != points.end() && p->t <= at + kReachNs; ++p) {
        const TraceNs time = cloud.time_of(p->t);
        const std::optional<int64_t> there = map.bound_at(time);
        if (!there) continue;
        // How much the offset can change from there to here: the drift, and the map's own
        // uncertainty at a reset.
        const double doubt = std::abs(p->t - at) * 2 * static_cast<double>(*knot.bound_ns);
        take(cloud.offset_of(p->v) - map.offset_at(time),
             static_cast<int64_t>(doubt / kKnotWindowNs) + 1 +
                 std::max<int64_t>(0, *there - *knot.bound_ns));
      }
    };
    look(cloud.lower, [&](int64_t v, int64_t doubt) { least = std::max(least, v - doubt); });
    look(cloud.upper, [&](int64_t v, int64_t doubt) { most = std::min(most, v + doubt); });
    if (least > most || (least == -*knot.bound_ns && most == *knot.bound_ns)) continue;
    const int64_t shift = std::clamp<int64_t>(0, least, most);
    knot.offset_ns += shift;
    knot.bound_ns = std::max(shift - least, most - shift);
    changed = true;
  }
  if (changed) map = ClockMap(std::move(knots));
  return changed;
}

Violations violations_of(const Meetings& meetings, const ClockMaps& maps) {
  Violations result;
  for (size_t m = 0; m < meetings.size(); ++m) {
    KnownTimes times;
    int bounded = 0;
    bool violated = false;
    for (const MeetingPart& part : meetings.parts(m)) {
      violated = violated || part.last_start > part.first_end;  // no doubt within one clock
      if (!maps[part.clock] || !maps[part.clock]->bound_at(part.first_end)) continue;
      times.add_limits(part, *maps[part.clock]);
      ++bounded;
    }
    if (bounded == 0) continue;
    ++result.checked;
    result.count += violated || times.last_start > times.first_end ? 1 : 0;
  }
  return result;
}

}  // namespace dprof::analyzer
