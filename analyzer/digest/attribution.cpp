// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/attribution.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace dprof::analyzer {
namespace {

struct ThreadWalk {
  OpenRanges<int32_t> open;
  std::vector<uint32_t> launches;  // in order
  size_t next_launch = 0;
  TraceNs last_begin{INT64_MIN};
};

class Walk {
 public:
  Walk(std::span<const NestedRange> ranges, std::span<const LaunchCall> launches)
      : ranges_(ranges), launches_(launches) {
    result_.parent.assign(ranges.size(), kNoRange);
    result_.owner.assign(launches.size(), kNoRange);
  }

  Attribution run() && {
    deal_out_launches();
    if (in_order()) {
      for (size_t r = 0; r < ranges_.size(); ++r) enter(r);
    } else {
      std::vector<uint32_t> order(ranges_.size());
      std::iota(order.begin(), order.end(), 0U);
      std::ranges::stable_sort(order, {}, [&](uint32_t r) { return ranges_[r].begin; });
      for (const uint32_t r : order) enter(r);
    }
    for (ThreadWalk& walk : walks_) own_launches(walk, {INT64_MAX});
    return std::move(result_);
  }

 private:
  ThreadWalk& walk_of(int32_t thread) {
    const size_t number = threads_.of(thread);
    if (number >= walks_.size()) walks_.resize(number + 1);
    return walks_[number];
  }

  void deal_out_launches() {
    for (size_t l = 0; l < launches_.size(); ++l)
      walk_of(launches_[l].thread).launches.push_back(static_cast<uint32_t>(l));
    const auto time_of = [&](uint32_t l) { return launches_[l].at; };
    for (ThreadWalk& walk : walks_) {
      if (!std::ranges::is_sorted(walk.launches, {}, time_of))
        std::ranges::stable_sort(walk.launches, {}, time_of);
    }
  }

  bool in_order() {
    for (const NestedRange& range : ranges_) {
      ThreadWalk& walk = walk_of(range.thread);
      if (range.begin < walk.last_begin) return false;
      walk.last_begin = range.begin;
    }
    return true;
  }

  // Launches before `until`; all ranges that can own them have been entered.
  void own_launches(ThreadWalk& walk, TraceNs until) {
    for (; walk.next_launch < walk.launches.size(); ++walk.next_launch) {
      const uint32_t l = walk.launches[walk.next_launch];
      const TraceNs at = launches_[l].at;
      if (at >= until) return;
      walk.open.close_until(at);
      if (const auto* owner = walk.open.innermost(at)) result_.owner[l] = owner->tag;
    }
  }

  void enter(size_t r) {
    const NestedRange& range = ranges_[r];
    ThreadWalk& walk = walk_of(range.thread);
    own_launches(walk, range.begin);
    walk.open.close_until(range.begin);
    const auto number = static_cast<int32_t>(r);
    const size_t place = walk.open.push({range.begin, range.end, number});
    const auto* parent = walk.open.covering(range.begin, place);
    const int32_t outer = parent == nullptr ? kNoRange : parent->tag;
    result_.parent[r] = outer;
    if (range.end <= range.begin) return;
    for (const auto& shorter : walk.open.above(place)) {
      if (result_.parent[static_cast<size_t>(shorter.tag)] == outer)
        result_.parent[static_cast<size_t>(shorter.tag)] = number;
    }
  }

  std::span<const NestedRange> ranges_;
  std::span<const LaunchCall> launches_;
  DenseIndex threads_;
  std::vector<ThreadWalk> walks_;
  Attribution result_;
};

}  // namespace

Attribution attribute(std::span<const NestedRange> ranges, std::span<const LaunchCall> launches) {
  return Walk(ranges, launches).run();
}

LaunchIndex::LaunchIndex(std::span<const LaunchCall> launches) : launches_(launches) {
  const size_t slots = std::bit_ceil(std::max<size_t>(2 * kNeighbours, launches.size() * 2));
  slots_.assign(slots, kNoRange);
  shift_ = 64 - std::countr_zero(slots / kNeighbours);
  for (size_t l = 0; l < launches.size(); ++l) {
    size_t slot = slot_of(launches[l].correlation);
    while (slots_[slot] != kNoRange) {
      const LaunchCall& there = launches_[static_cast<size_t>(slots_[slot])];
      if (there.correlation == launches[l].correlation) break;
      slot = (slot + 1) & (slots_.size() - 1);
    }
    int32_t& taken = slots_[slot];
    if (taken == kNoRange || launches[l].at < launches_[static_cast<size_t>(taken)].at)
      taken = static_cast<int32_t>(l);
  }
}

size_t LaunchIndex::slot_of(int64_t correlation) const {
  const auto number = static_cast<uint64_t>(correlation);
  const uint64_t line = (number / kNeighbours * 0x9E3779B97F4A7C15ULL) >> shift_;
  return static_cast<size_t>(line * kNeighbours + number % kNeighbours);
}

int32_t LaunchIndex::find(int64_t correlation) const {
  for (size_t slot = slot_of(correlation); slots_[slot] != kNoRange;
       slot = (slot + 1) & (slots_.size() - 1)) {
    if (launches_[static_cast<size_t>(slots_[slot])].correlation == correlation)
      return slots_[slot];
  }
  return kNoRange;
}

}  // namespace dprof::analyzer
