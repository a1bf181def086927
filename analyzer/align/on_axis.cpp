// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "analyzer/align/align.h"
#include "base/in_threads.h"

namespace dprof::analyzer {
namespace {

// Rounding can make neighbours touch, or an interval of a nanosecond vanish.
void make_canonical(IntervalSet& set) {
  bool canonical = true;
  for (const Interval& interval : set) canonical = canonical && !interval.empty();
  for (size_t i = 1; i < set.size(); ++i) canonical = canonical && set[i - 1].end < set[i].begin;
  if (!canonical) set = union_of(std::exchange(set, {}));
}

void map_digest(const ClockMap& map, RankDigest& digest) {
  const auto move = [&](TraceNs& time) { time = map.to_axis(time); };
  const auto move_known = [&](auto& time) {
    if (time) time = map.to_axis(*time);
  };
  const auto move_interval = [&](Interval& interval) {
    move(interval.begin);
    move(interval.end);
  };
  move_interval(digest.span);
  move(digest.last_sign);
  for (PhaseRange& phase : digest.phases) move_interval(phase.span);
  for (IntervalSet* set : {&digest.autograd, &digest.autograd_elsewhere, &digest.ops,
                           &digest.forward_signs, &digest.waits, &digest.named, &digest.allocations,
                           &digest.gc, &digest.logging, &digest.profiler}) {
    for (Interval& interval : *set) move_interval(interval);
    make_canonical(*set);
  }
  digest.collectives.edit_all([&](CollectiveRecord& record) {
    for (CollectiveRecord::Time* time :
         {&record.enqueue, &record.start, &record.end, &record.failed, &record.ready})
      move_known(*time);
  });
  for (StepRecord& step : digest.steps) move_interval(step.window);
  for (RunQueueSample& sample : digest.run_queue) move(sample.at);
  for (HostToken& token : digest.tokens) move(token.at);
  for_each_time(digest.gpu, move);
  for_each_time(digest.memory, move);
  for_each_time(digest.facts, move);
  for_each_time(digest.system, move);
  make_canonical(digest.gpu.compute);
  make_canonical(digest.gpu.communication);
}

}  // namespace

void put_on_axis(const Alignment& alignment, std::span<RankDigest> digests) {
  in_threads(digests.size(), 0, [&](size_t d) {
    if (!alignment.maps[d].is_identity()) map_digest(alignment.maps[d], digests[d]);
  });
}

}  // namespace dprof::analyzer
