// SPDX-License-Identifier: Apache-2.0
// What each rank did by itself between one synchronising collective and the next. These durations,
// not the ranks' start times, tell culprits from victims (analysis.md 6.1).
#pragma once

#include <span>
#include <vector>

#include "analyzer/breakdown/sums.h"
#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"
#include "analyzer/steps/steps.h"

namespace dprof::analyzer {

// One rank's own work from the former collective to this one.
struct Segment {
  int64_t before_stop_ns = 0;  // until the former collective held it up
  int64_t after_stop_ns = 0;   // from there until it came to this one

  [[nodiscard]] int64_t own_ns() const { return before_stop_ns + after_stop_ns; }
};

// A synchronising collective of all ranks.
struct Meeting {
  size_t instance = 0;  // in Matching::instances
  size_t step = 0;      // position in Steps::steps
  int64_t transfer_ns = 0;
  bool stops = false;           // ranks are held up until it is done, before they come to the next
  std::vector<TraceNs> former;  // per entry of Steps::ranks: arrival at the meeting before
  std::vector<TraceNs> arrivals;  // likewise: arrival here
  std::vector<Segment> segments;  // likewise: the work that led here
};

// The meetings of the steady steps, in order. Empty: ranks cannot be compared.
std::vector<Meeting> meetings_of(std::span<const RankDigest> digests, const Steps& steps,
                                 const Matching& matching, const std::vector<OwnClock>& clocks);

// Own work per step: [rank][step of steady()], the sum over its meetings; and per category.
struct OwnWork {
  std::vector<size_t> steps;                 // positions of the steady steps that hold a meeting
  std::vector<std::vector<int64_t>> own_ns;  // [rank][entry of steps]
  std::vector<std::vector<Sums>> sums;       // [rank][entry of steps]
};
OwnWork own_work_of(const std::vector<Meeting>& meetings,
                    std::span<const std::span<const LatticePiece>> pieces);

}  // namespace dprof::analyzer
