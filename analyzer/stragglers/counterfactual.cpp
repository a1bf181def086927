// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/counterfactual.h"

#include <algorithm>

#include "base/stats.h"

namespace dprof::analyzer {
namespace {

// Median of the meeting's segments, of all ranks but `without`.
Segment middle_segment(const Meeting& meeting, std::optional<size_t> without) {
  std::vector<int64_t> before;
  std::vector<int64_t> after;
  for (size_t r = 0; r < meeting.segments.size(); ++r) {
    if (r == without) continue;
    before.push_back(meeting.segments[r].before_stop_ns);
    after.push_back(meeting.segments[r].after_stop_ns);
  }
  return {median_ns(std::move(before)), median_ns(std::move(after))};
}

std::vector<Segment> replaced(const Meeting& meeting, const Replacement& replacement) {
  std::vector<Segment> segments = meeting.segments;
  if (replacement.all) {
    std::ranges::fill(segments, middle_segment(meeting, std::nullopt));
  } else if (replacement.rank && segments.size() > 1) {
    segments[*replacement.rank] = middle_segment(meeting, replacement.rank);
  }
  return segments;
}

}  // namespace

std::vector<int64_t> replay(std::span<const Meeting> meetings, const Replacement& replacement) {
  std::vector<int64_t> lengths;
  if (meetings.empty()) return lengths;
  std::vector<int64_t> now(meetings.front().segments.size(), 0);
  int64_t done = 0;  // when the meetings so far are over
  int64_t step_begin = 0;
  bool former_stops = true;
  for (size_t m = 0; m < meetings.size(); ++m) {
    const Meeting& meeting = meetings[m];
    const std::vector<Segment> segments = replaced(meeting, replacement);
    int64_t last = 0;
    for (size_t r = 0; r < now.size(); ++r) {
      now[r] += segments[r].before_stop_ns;
      if (former_stops) now[r] = std::max(now[r], done);
      now[r] += segments[r].after_stop_ns;
      last = std::max(last, now[r]);
    }
    done = std::max(done, last + meeting.transfer_ns);
    former_stops = meeting.stops;
    if (m + 1 < meetings.size() && meetings[m + 1].step == meeting.step) continue;
    lengths.push_back(done - step_begin);
    step_begin = done;
  }
  return lengths;
}

std::vector<int64_t> gain_of(std::span<const Meeting> meetings, std::span<const int64_t> recorded,
                             const Replacement& replacement) {
  std::vector<int64_t> gain = replay(meetings, replacement);
  for (size_t i = 0; i < gain.size(); ++i) gain[i] = recorded[i] - gain[i];
  return gain;
}

}  // namespace dprof::analyzer
