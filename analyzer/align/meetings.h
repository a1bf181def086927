// SPDX-License-Identifier: Apache-2.0
// Evidence about clocks from synchronising collectives: none can end on one host before it has
// begun on all others, and all hosts see its end at about the same time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/align/clock_map.h"
#include "analyzer/align/cloud.h"
#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"

namespace dprof::analyzer {

// One clock's part of one collective: all its ranks together.
struct MeetingPart {
  size_t clock = 0;
  TraceNs last_start;
  TraceNs first_end;
};

// Every finished synchronising collective, as the clocks saw it. All-to-alls are left out: with
// uneven sizes some members wait for no other.
//
// Invariant  the parts of one meeting are adjacent, sorted by clock, one for each.
class Meetings {
 public:
  // `clock_of` gives each digest's clock. O(members).
  Meetings(std::span<const RankDigest> digests, const Matching& matching,
           std::span<const size_t> clock_of);

  [[nodiscard]] size_t size() const { return begins_.size() - 1; }
  [[nodiscard]] std::span<const MeetingPart> parts(size_t meeting) const {
    return std::span(parts_).subspan(begins_[meeting], begins_[meeting + 1] - begins_[meeting]);
  }

 private:
  std::vector<MeetingPart> parts_;
  std::vector<size_t> begins_ = {0};
};

// A clock's map to the axis; nullopt = not known yet.
using ClockMaps = std::vector<std::optional<ClockMap>>;

// For each clock with `wanted`: its offset to the axis, as its meetings with clocks of `known` maps
// show it. `middle` of the clouds compares the end here with the median end over all clocks with a
// map in `guessed`. Memory and time O(parts).
[[nodiscard]] std::vector<Cloud> clouds_of(const Meetings& meetings, const ClockMaps& known,
                                           const ClockMaps& guessed,
                                           const std::vector<bool>& wanted);

// The clocks that share a meeting with a clock of a known map.
[[nodiscard]] std::vector<bool> reachable(const Meetings& meetings, const ClockMaps& known);

// Moves each knot of `map` into the range the cloud allows near it, and narrows its bound. Returns
// whether anything changed. O(points + knots).
bool tighten(ClockMap& map, const Cloud& cloud);

struct Violations {
  int64_t checked = 0;
  int64_t count = 0;
};

// Meetings that ended on one clock before they began on another, by more than the bounds; maps
// without a bound are skipped. O(parts).
[[nodiscard]] Violations violations_of(const Meetings& meetings, const ClockMaps& maps);

}  // namespace dprof::analyzer
