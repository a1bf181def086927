// SPDX-License-Identifier: Apache-2.0
#include "gui/view/figures/durations.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace dprof::view {
namespace {

constexpr double kTail = 0.95;

struct Event {
  int64_t ns;
  SlicePlace place;
};

int64_t quantile(std::vector<int64_t>& values, double q) {
  const auto at = static_cast<ptrdiff_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<size_t>(at)];
}

RankDurations summary(int rank, std::vector<int64_t>& values) {
  RankDurations of{.rank = rank, .count = static_cast<int64_t>(values.size())};
  for (const int64_t value : values) of.total_ns += value;
  of.median_ns = quantile(values, 0.5);
  of.p95_ns = quantile(values, kTail);
  of.longest_ns = std::ranges::max(values);
  return of;
}

void add_buckets(const std::vector<Event>& events, const std::vector<uint8_t>& chosen,
                 Durations& durations) {
  const auto [least, most] = std::ranges::minmax_element(events, {}, &Event::ns);
  // No logarithms below one nanosecond.
  const double low = std::log(static_cast<double>(std::max<int64_t>(least->ns, 1)));
  const double high = std::log(static_cast<double>(std::max<int64_t>(most->ns, 1)));
  const double width = (high - low) / static_cast<double>(kDurationBuckets);
  const size_t count = width > 0 ? kDurationBuckets : 1;
  durations.buckets.resize(count);
  for (size_t b = 0; b < count; ++b) {
    DurationBucket& bucket = durations.buckets[b];
    bucket.from_ns =
        b == 0 ? least->ns : std::llround(std::exp(low + width * static_cast<double>(b)));
    bucket.to_ns = b + 1 == count
                       ? most->ns
                       : std::llround(std::exp(low + width * static_cast<double>(b + 1)));
  }
  // By the rounded bounds that are displayed: a bar contains exactly what its bounds select.
  for (const Event& event : events) {
    const auto after =
        std::ranges::upper_bound(durations.buckets, event.ns, {}, &DurationBucket::from_ns);
    DurationBucket& bucket = *(after - 1);
    const bool first = bucket.count == 0;
    ++bucket.count;
    bucket.of_chosen += chosen[static_cast<size_t>(event.place.rank_index)];
    if (first || event.ns > bucket.longest_ns) {
      bucket.longest = event.place;
      bucket.longest_ns = event.ns;
    }
  }
}

}  // namespace

Durations durations_of(const RunEvents& run, const EventQuery& query) {
  std::vector<std::vector<int64_t>> by_rank(run.size());
  std::vector<int64_t> all;
  std::vector<Event> events;
  std::vector<uint8_t> chosen;
  Durations durations;
  for (const LoadedRank& rank : run)
    chosen.push_back(!query.ranks.empty() && query.asks_for(rank.rank) ? 1 : 0);
  EventQuery of_all = query;
  of_all.ranks.clear();
  each_event(run, of_all, [&](const SlicePlace& place, Interval span) {
    if (is_unfinished(run[static_cast<size_t>(place.rank_index)].events->lanes, span.end)) {
      ++durations.unfinished;
      return;
    }
    const int64_t ns = span.length().ns;
    by_rank[static_cast<size_t>(place.rank_index)].push_back(ns);
    all.push_back(ns);
    events.push_back({ns, place});
  });
  if (all.empty()) return durations;
  for (size_t r = 0; r < by_rank.size(); ++r) {
    if (!by_rank[r].empty()) durations.by_rank.push_back(summary(run[r].rank, by_rank[r]));
  }
  std::ranges::stable_sort(durations.by_rank, std::greater(), &RankDurations::median_ns);
  durations.all = summary(-1, all);
  add_buckets(events, chosen, durations);
  return durations;
}

}  // namespace dprof::view
