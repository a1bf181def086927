// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/segments.h"

#include <algorithm>

namespace dprof::analyzer {
namespace {

// The step that a moment belongs to; what comes after a step belongs to it until the next begins.
std::optional<size_t> step_at(const Steps& steps, size_t rank, TraceNs time) {
  const auto next = std::ranges::upper_bound(
      steps.steps, time, {}, [&](const AlignedStep& s) { return s.windows[rank].begin; });
  if (next == steps.steps.begin()) return std::nullopt;
  return static_cast<size_t>(next - steps.steps.begin()) - 1;
}

// When each rank came to the instance; nullopt unless every rank did, on its training thread.
std::optional<std::vector<TraceNs>> arrivals_at(const Instance& instance,
                                                std::span<const RankDigest> digests,
                                                const Steps& steps) {
  std::vector<TraceNs> arrivals;
  for (const size_t rank : steps.ranks) {
    const auto member =
        std::ranges::find(instance.members, rank, [](const Member& m) { return m.digest; });
    if (member == instance.members.end()) return std::nullopt;
    const CollectiveRecord& record = digests[rank].collectives[member->record];
    if (!record.by_training_thread || !record.arrival()) return std::nullopt;
    arrivals.push_back(*record.arrival());
  }
  return arrivals;
}

// Same step on all ranks, and after the former meeting on each of them.
std::optional<size_t> common_step(const Steps& steps, const std::vector<TraceNs>& arrivals,
                                  const std::vector<TraceNs>& former) {
  std::optional<size_t> common;
  for (size_t r = 0; r < arrivals.size(); ++r) {
    if (!former.empty() && arrivals[r] < former[r]) return std::nullopt;
    const std::optional<size_t> step = step_at(steps, r, arrivals[r]);
    if (!step || (common && *common != *step)) return std::nullopt;
    common = step;
  }
  return common;
}

void fill_segments(Meeting& meeting, const Meeting& former, const std::vector<OwnClock>& clocks) {
  const size_t ranks = meeting.arrivals.size();
  meeting.former = former.arrivals;
  std::vector<std::optional<TraceNs>> stops(ranks);
  for (size_t r = 0; r < ranks; ++r)
    stops[r] = clocks[r].first_stop(former.arrivals[r], meeting.arrivals[r]);
  meeting.segments.resize(ranks);
  for (size_t r = 0; r < ranks; ++r) {
    const int64_t begin = clocks[r].at(former.arrivals[r]);
    const int64_t end = clocks[r].at(meeting.arrivals[r]);
    const int64_t stop = stops[r] ? clocks[r].at(*stops[r]) : begin;
    meeting.segments[r] = {stop - begin, end - stop};
  }
}

// Whether most ranks were held up between `meeting` and `next`.
bool holds_up(const Meeting& meeting, const Meeting& next, const std::vector<OwnClock>& clocks) {
  size_t stopped = 0;
  for (size_t r = 0; r < meeting.arrivals.size(); ++r)
    stopped += clocks[r].first_stop(meeting.arrivals[r], next.arrivals[r]) ? 1 : 0;
  return 2 * stopped >= meeting.arrivals.size();
}

}  // namespace

std::vector<Meeting> meetings_of(std::span<const RankDigest> digests, const Steps& steps,
                                 const Matching& matching, const std::vector<OwnClock>& clocks) {
  std::vector<Meeting> all;
  for (size_t i = 0; i < matching.instances.size(); ++i) {
    const Instance& instance = matching.instances[i];
    if (!instance.comparable || !is_synchronising(instance.function)) continue;
    std::optional<std::vector<TraceNs>> arrivals = arrivals_at(instance, digests, steps);
    if (!arrivals) continue;
    const std::optional<size_t> step =
        common_step(steps, *arrivals, all.empty() ? std::vector<TraceNs>() : all.back().arrivals);
    if (!step) continue;
    all.push_back({.instance = i,
                   .step = *step,
                   .transfer_ns = instance.transfer_ns,
                   .former = {},
                   .arrivals = *std::move(arrivals),
                   .segments = {}});
  }
  std::vector<Meeting> steady;
  for (size_t m = 0; m < all.size(); ++m) {
    if (all[m].step < steps.first_steady || all[m].step > steps.last_steady) continue;
    if (m == 0) continue;  // nothing to measure from
    fill_segments(all[m], all[m - 1], clocks);
    all[m].stops = m + 1 >= all.size() || holds_up(all[m], all[m + 1], clocks);
    steady.push_back(all[m]);
  }
  return steady;
}

OwnWork own_work_of(const std::vector<Meeting>& meetings,
                    std::span<const std::span<const LatticePiece>> pieces) {
  OwnWork work;
  if (meetings.empty()) return work;
  const size_t ranks = meetings.front().arrivals.size();
  work.own_ns.resize(ranks);
  for (const Meeting& meeting : meetings) {
    if (work.steps.empty() || work.steps.back() != meeting.step) {
      work.steps.push_back(meeting.step);
      for (auto& of_rank : work.own_ns) of_rank.push_back(0);
    }
    for (size_t r = 0; r < ranks; ++r) work.own_ns[r].back() += meeting.segments[r].own_ns();
  }
  // A step's work reaches from the last meeting before the step to the last one in it.
  work.sums.resize(ranks);
  for (size_t r = 0; r < ranks; ++r) {
    std::vector<Interval> windows;
    for (size_t m = 0; m < meetings.size(); ++m) {
      if (m + 1 < meetings.size() && meetings[m + 1].step == meetings[m].step) continue;
      const TraceNs begin = windows.empty() ? meetings.front().former[r] : windows.back().end;
      windows.push_back({begin, meetings[m].arrivals[r]});
    }
    work.sums[r] = sum_over(pieces[r], windows);
  }
  return work;
}

}  // namespace dprof::analyzer
