// SPDX-License-Identifier: Apache-2.0
#include "gui/view/figures/event_list.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "analyzer/lanes/lane_walk.h"
#include "gui/view/model/names.h"

namespace dprof::view {
namespace {

// Keeps the first events by key, storing at most twice as many as needed.
class FirstEvents {
 public:
  void offer(int64_t key, const SlicePlace& place) {
    if (key > last_) return;
    kept_.push_back({key, place});
    if (kept_.size() >= 2 * kMostListed) cut();
  }
  std::vector<SlicePlace> sorted() && {
    cut();
    std::ranges::sort(kept_, before);
    std::vector<SlicePlace> places;
    places.reserve(kept_.size());
    for (const Keyed& one : kept_) places.push_back(one.place);
    return places;
  }

 private:
  struct Keyed {
    int64_t key;
    SlicePlace place;
  };
  static bool before(const Keyed& a, const Keyed& b) {
    const auto tie = [](const Keyed& k) {
      return std::tuple(k.key, k.place.rank_index, k.place.thread_index, k.place.depth,
                        k.place.slice);
    };
    return tie(a) < tie(b);
  }
  void cut() {
    if (kept_.size() <= kMostListed) return;
    const auto end = kept_.begin() + static_cast<ptrdiff_t>(kMostListed);
    std::nth_element(kept_.begin(), end - 1, kept_.end(), before);
    kept_.erase(end, kept_.end());
    last_ = kept_.back().key;
  }

  std::vector<Keyed> kept_;
  int64_t last_ = std::numeric_limits<int64_t>::max();
};

// Calls back for each lane of a rank, with the position of its first event.
template <typename Each>
void each_lane(const analyzer::RankLanes& lanes, int rank_index, const Each& each) {
  for (size_t t = 0; t < lanes.threads.size(); ++t) {
    const std::vector<analyzer::Lane>& depths = lanes.threads[t].depths;
    for (size_t d = 0; d < depths.size(); ++d)
      each(depths[d], SlicePlace{rank_index, static_cast<int>(t), static_cast<int>(d), 0});
  }
}

// The sort key of events. The longest come first, those without a duration last. Ties stay in the
// order of ranks, threads and time.
class Keys {
 public:
  Keys(const RunEvents& events, EventOrder order) : events_(events), order_(order) {
    if (order != EventOrder::kByName) return;
    std::vector<std::string_view> all;
    for (const LoadedRank& rank : events)
      all.insert(all.end(), rank.events->lanes.names.begin(), rank.events->lanes.names.end());
    std::ranges::sort(all);
    for (const LoadedRank& rank : events) {
      std::vector<int64_t>& places = names_.emplace_back();
      for (const std::string& name : rank.events->lanes.names)
        places.push_back(std::ranges::lower_bound(all, name) - all.begin());
    }
  }

  [[nodiscard]] int64_t of(const SlicePlace& place, Interval span) const {
    const auto rank = static_cast<size_t>(place.rank_index);
    const analyzer::RankLanes& lanes = events_[rank].events->lanes;
    switch (order_) {
      case EventOrder::kByTime:
        return span.begin.ns;
      case EventOrder::kByDuration:
        return is_unfinished(lanes, span.end) ? 1 : -span.length().ns;
      case EventOrder::kByName: {
        const analyzer::ThreadLanes& thread =
            lanes.threads[static_cast<size_t>(place.thread_index)];
        const analyzer::Lane& lane = thread.depths[static_cast<size_t>(place.depth)];
        return names_[rank][static_cast<size_t>(lane.name[place.slice])];
      }
      case EventOrder::kByRank:
        return events_[rank].rank;
    }
    return 0;
  }

 private:
  const RunEvents& events_;
  EventOrder order_;
  std::vector<std::vector<int64_t>> names_;  // by rank and name: its position among all names
};

}  // namespace

bool EventQuery::asks_for(int rank) const {
  return ranks.empty() || std::ranges::find(ranks, rank) != ranks.end();
}

void each_event(const RunEvents& events, const EventQuery& query,
                const std::function<void(const SlicePlace& place, Interval span)>& each) {
  for (size_t r = 0; r < events.size(); ++r) {
    if (!query.asks_for(events[r].rank)) continue;
    const analyzer::RankLanes& lanes = events[r].events->lanes;
    const std::vector<uint8_t> matches =
        query.name.empty() ? std::vector<uint8_t>() : matching_names(lanes.names, query.name);
    each_lane(lanes, static_cast<int>(r), [&](const analyzer::Lane& lane, SlicePlace place) {
      const analyzer::SliceRange range = analyzer::slices_in(lane, query.range);
      for (size_t i = range.first; i < range.end; ++i) {
        if (!matches.empty() && matches[static_cast<size_t>(lane.name[i])] == 0) continue;
        place.slice = static_cast<uint32_t>(i);
        const TraceNs begin{lane.start_ns[i]};
        const Interval span{begin, begin + DurationNs{lane.duration_ns[i]}};
        if (query.durations &&
            (!query.durations->contains(lane.duration_ns[i]) || is_unfinished(lanes, span.end))) {
          continue;
        }
        each(place, span);
      }
    });
  }
}

int64_t count_events(const RunEvents& events, const EventQuery& query) {
  int64_t count = 0;
  for (size_t r = 0; r < events.size(); ++r) {
    if (!query.asks_for(events[r].rank)) continue;
    each_lane(events[r].events->lanes, static_cast<int>(r),
              [&](const analyzer::Lane& lane, const SlicePlace&) {
                const analyzer::SliceRange range = analyzer::slices_in(lane, query.range);
                count += static_cast<int64_t>(range.end - range.first);
              });
  }
  return count;
}

EventList list_events(const RunEvents& events, const EventQuery& query) {
  EventList list;
  FirstEvents first_events;
  const Keys keys(events, query.order);
  each_event(events, query, [&](const SlicePlace& place, Interval span) {
    ++list.count;
    first_events.offer(keys.of(place, span), place);
  });
  list.events = std::move(first_events).sorted();
  return list;
}

std::optional<SlicePlace> next_named(const Model& model, std::string_view pattern,
                                     std::optional<SlicePlace> from, TraceNs time, int by) {
  const auto lane_order = [](const SlicePlace& place) {
    return std::tuple(place.rank_index, place.thread_index, place.depth);
  };
  if (from) time = span_of(model, *from).begin;
  std::optional<SlicePlace> found;
  int64_t nearest = 0;
  for (size_t r = 0; r < model.ranks.size(); ++r) {
    const RankModel& rank = model.ranks[r];
    const std::vector<uint8_t> matches = matching_names(rank.lanes().names, pattern);
    if (std::ranges::find(matches, 1) == matches.end()) continue;
    each_lane(rank.lanes(), static_cast<int>(r), [&](const analyzer::Lane& lane, SlicePlace place) {
      // Events that begin together are ordered by lane.
      const bool up_to_now = from && lane_order(place) <= lane_order(*from);
      const auto begin = lane.start_ns.begin();
      const auto edge = up_to_now ? std::upper_bound(begin, lane.start_ns.end(), time.ns)
                                  : std::lower_bound(begin, lane.start_ns.end(), time.ns);
      int64_t i = edge - begin;
      if (by < 0) --i;
      if (by < 0 && from && lane_order(place) == lane_order(*from)) i = int64_t{from->slice} - 1;
      const auto size = static_cast<int64_t>(lane.start_ns.size());
      for (; i >= 0 && i<size; i += by> 0 ? 1 : -1) {
        const int64_t start = lane.start_ns[static_cast<size_t>(i)];
        if (found && (by > 0 ? start >= nearest : start < nearest)) return;
        if (matches[static_cast<size_t>(lane.name[static_cast<size_t>(i)])] == 0) continue;
        place.slice = static_cast<uint32_t>(i);
        found = place;
        nearest = start;
        return;
      }
    });
  }
  return found;
}

}  // namespace dprof::view
