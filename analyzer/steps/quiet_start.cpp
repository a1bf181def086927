// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/quiet_start.h"

#include <algorithm>
#include <cmath>

#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kLeastGap = 0.005;  // of a step: less is the pause between two operators
constexpr double kSamePlace = 0.1;   // of a step
constexpr double kQuietInMostSteps = 0.8;

// The longest part of `window` that `set` does not cover; empty if it covers all.
Interval longest_gap(const IntervalSet& set, Interval window) {
  Interval best{window.begin, window.begin};
  TraceNs from = window.begin;
  const auto consider = [&](TraceNs to) {
    if (to - from > best.length()) best = {from, to};
  };
  auto next = std::ranges::lower_bound(set, window.begin, {}, &Interval::end);
  for (; next != set.end() && next->begin < window.end; ++next) {
    consider(std::max(from, next->begin));
    from = std::max(from, next->end);
  }
  consider(std::max(from, window.end));
  return best;
}

// When the last collective ended that had ended by then, or the trace began.
TraceNs last_end_before(const RankDigest& digest, TraceNs moment) {
  TraceNs last = digest.span.begin;
  for (const CollectiveRecord& record : digest.collectives) {
    if (record.end && *record.end <= moment) last = std::max(last, *record.end);
  }
  return last;
}

IntervalSet busy_times(const RankDigest& digest, const IntervalSet& autograd) {
  std::vector<Interval> more;
  for (const PhaseRange& phase : digest.phases) {
    if (phase.marker != schema::Marker::kInput) more.push_back(phase.span);
  }
  // Where the host waits for its collectives; with a GPU it does not.
  if (digest.gpu.empty()) {
    for (const CollectiveRecord& record : digest.collectives) {
      if (record.arrival() && record.end && record.by_training_thread)
        more.push_back({*record.arrival(), *record.end});
    }
  }
  return union_of(union_of(union_of(digest.ops, autograd), digest.waits),
                  union_of(std::move(more)));
}

}  // namespace

std::optional<std::vector<TraceNs>> quiet_starts(const RankDigest& digest,
                                                 std::span<const TraceNs> begins) {
  if (begins.size() < 3 || (digest.ops.empty() && digest.autograd.empty())) return std::nullopt;
  const IntervalSet autograd = union_of(digest.autograd, digest.autograd_elsewhere);
  const IntervalSet busy = busy_times(digest, autograd);
  std::vector<int64_t> lengths;
  for (size_t i = 1; i < begins.size(); ++i) lengths.push_back((begins[i] - begins[i - 1]).ns);
  const int64_t usual_length = median_ns(lengths);
  std::vector<TraceNs> starts;
  std::vector<int64_t> gaps;
  std::vector<int64_t> offsets;
  for (size_t i = 0; i < begins.size(); ++i) {
    // What lies further back than a usual step belongs to no step, or to the one before.
    const TraceNs earliest = begins[i] - DurationNs{usual_length};
    const TraceNs before = i == 0 ? last_end_before(digest, begins[i]) : begins[i - 1];
    Interval window{std::max(before, earliest), begins[i]};
    if (!autograd.empty()) window = longest_gap(autograd, window);
    const Interval gap = longest_gap(busy, window);
    starts.push_back(gap.begin);
    gaps.push_back(gap.length().ns);
    offsets.push_back((begins[i] - gap.begin).ns);
  }
  const auto usual = static_cast<double>(usual_length);
  const int64_t usual_offset = median_ns(offsets);
  const auto is_usual = [&](int64_t offset) {
    return std::abs(static_cast<double>(offset - usual_offset)) <= kSamePlace * usual;
  };
  const auto same = std::ranges::count_if(offsets, is_usual);
  if (static_cast<double>(median_ns(gaps)) < kLeastGap * usual ||
      static_cast<double>(same) < kQuietInMostSteps * static_cast<double>(begins.size()))
    return std::nullopt;
  // Before the first step stands anything.
  if (!is_usual(offsets.front())) starts.front() = begins.front() - DurationNs{usual_offset};
  return starts;
}

}  // namespace dprof::analyzer
