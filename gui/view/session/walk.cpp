// SPDX-License-Identifier: Apache-2.0
#include "gui/view/session/walk.h"

#include <algorithm>
#include <string>

#include "analyzer/lanes/lane_walk.h"
#include "gui/view/figures/collective_times.h"
#include "gui/view/figures/event_list.h"
#include "gui/view/figures/notable_ranks.h"
#include "gui/view/session/landmarks.h"

namespace dprof::view {

bool Walk::next_finding(int by) {
  const auto count = static_cast<int>(model_->findings().size());
  if (count == 0) return false;
  const int current = selection_.finding ? static_cast<int>(*selection_.finding) : -1;
  const int next = current < 0 ? (by > 0 ? 0 : count - 1) : current + by;
  if (next < 0 || next >= count) return false;
  selecting_.select_finding(static_cast<size_t>(next));
  return true;
}

bool Walk::next_step(int by) {
  if (model_->steps.empty()) return false;
  const TraceNs middle = viewport_.range().begin + DurationNs{viewport_.range().length().ns / 2};
  const int64_t current = selection_.step ? *selection_.step : step_at(*model_, middle);
  const std::optional<size_t> index = model_->index_of_step(current);
  if (!index) return false;
  const int64_t next = static_cast<int64_t>(*index) + by;
  if (next < 0 || next >= static_cast<int64_t>(model_->steps.size())) return false;
  selecting_.select_step(model_->steps[static_cast<size_t>(next)].index);
  return true;
}

bool Walk::next_notable(int by) {
  const std::vector<NotableRank> ranks = notable_ranks(*model_);
  if (ranks.empty()) return false;
  const auto count = static_cast<int>(ranks.size());
  const auto current = std::ranges::find_if(
      ranks, [&](const NotableRank& one) { return selection_.has_rank(one.rank); });
  int next = by > 0 ? 0 : count - 1;
  if (current != ranks.end() && selection_.ranks.size() == 1)
    next = (static_cast<int>(current - ranks.begin()) + by + count) % count;
  selecting_.select_rank(ranks[static_cast<size_t>(next)].rank);
  return true;
}

bool Walk::next_arrival(int by) {
  if (!selection_.collective) return false;
  const analyzer::MatchedCollective& collective = model_->collectives[*selection_.collective];
  const auto members = arrivals_of(collective);
  if (members.empty()) return false;
  const auto current = std::find_if(members.begin(), members.end(), [&](const auto* member) {
    return selection_.slice && selection_.has_rank(member->rank);
  });
  int64_t next = by > 0 ? 0 : static_cast<int64_t>(members.size()) - 1;
  if (current != members.end()) next = (current - members.begin()) + by;
  if (next < 0 || next >= static_cast<int64_t>(members.size())) return false;
  const analyzer::CollectiveMember& member = *members[static_cast<size_t>(next)];
  const Selection former = selection_;
  const bool found = selecting_
                         .select("row:" + std::to_string(member.rank) + "/collective/" +
                                 std::to_string(member.row))
                         .ok();
  Selection arrived = selection_;
  arrived.collective = former.collective;
  arrived.finding = former.finding;
  arrived.step = former.step;
  selecting_.set(std::move(arrived));
  return found;
}

bool Walk::next_slice(int by) {
  if (!selection_.slice) return false;
  SlicePlace place = *selection_.slice;
  const analyzer::Lane& lane = lane_of(*model_, place);
  const int64_t next = static_cast<int64_t>(place.slice) + by;
  if (next < 0 || next >= static_cast<int64_t>(lane.start_ns.size())) return false;
  place.slice = static_cast<uint32_t>(next);
  selecting_.select_slice(place);
  return true;
}

bool Walk::next_depth(int by) {
  if (!selection_.slice) return false;
  SlicePlace place = *selection_.slice;
  const Interval own = span_of(*model_, place);
  place.depth += by;
  const auto depths = static_cast<int>(thread_of(*model_, *selection_.slice).depths.size());
  if (place.depth < 0 || place.depth >= depths) return false;
  const analyzer::Lane& lane = lane_of(*model_, place);
  const analyzer::SliceRange range = analyzer::slices_in(lane, own);
  for (size_t i = range.first; i < range.end; ++i) {
    place.slice = static_cast<uint32_t>(i);
    const Interval other = span_of(*model_, place);
    const Interval outer = by < 0 ? other : own;
    const Interval inner = by < 0 ? own : other;
    if (inner.begin < outer.begin || inner.end > outer.end) continue;
    selecting_.select_slice(place);
    return true;
  }
  return false;
}

bool Walk::next_named(std::string_view pattern, int by) {
  const Interval range = viewport_.range();
  const auto found =
      view::next_named(*model_, pattern, selection_.slice, by > 0 ? range.begin : range.end, by);
  if (!found) return false;
  const Selection former = selection_;
  selecting_.select_rank(rank_of(*model_, *found).rank);
  Selection chosen = selection_;
  chosen.name = former.name;
  chosen.durations = former.durations;
  selecting_.set(std::move(chosen));
  selecting_.select_slice(*found);
  return true;
}

bool Walk::next_in_flow(int by) {
  const std::vector<SlicePlace> all = flow_.places();
  if (all.empty()) return false;
  const auto at = std::ranges::find(all, *selection_.slice) - all.begin() + by;
  if (at < 0 || at >= static_cast<ptrdiff_t>(all.size())) return false;
  selecting_.select_event(all[static_cast<size_t>(at)]);
  return true;
}

}  // namespace dprof::view
