// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/shared_events.h"

#include <algorithm>

namespace dprof::analyzer {

SharedWith::SharedWith(std::span<const RankDigest> digests, const Matching& matching, size_t known)
    : digests_(digests),
      matching_(matching),
      known_(known),
      record_of_instance_(matching.instances.size(), kNoInstance) {
  const std::vector<uint32_t>& instances = matching.instance_of[known];
  for (size_t r = 0; r < instances.size(); ++r) {
    if (instances[r] != kNoInstance) record_of_instance_[instances[r]] = r;
  }
}

std::optional<SharedWith::Counterpart> SharedWith::counterpart_of(size_t other,
                                                                  size_t record) const {
  const size_t instance = matching_.instance_of[other][record];
  if (instance != kNoInstance) {
    const size_t known = record_of_instance_[instance];
    if (known == kNoInstance) return std::nullopt;
    return Counterpart{known, Way::kTogether};
  }
  const size_t index = matching_.message_at(other, record);
  if (index == kNoInstance) return std::nullopt;
  const Message& message = matching_.messages[index];
  if (message.send && message.send->digest == known_)
    return Counterpart{message.send->record, Way::kFromKnown};
  if (message.receive && message.receive->digest == known_)
    return Counterpart{message.receive->record, Way::kToKnown};
  return std::nullopt;
}

std::vector<SharedEvent> SharedWith::events(size_t other) const {
  std::vector<SharedEvent> events;
  const CollectiveRecords& records = digests_[other].collectives;
  for (size_t r = 0; r < records.size(); ++r) {
    const std::optional<Counterpart> known = counterpart_of(other, r);
    if (!known) continue;
    const CollectiveRecord& there = digests_[known_].collectives[known->record];
    const CollectiveRecord& here = records[r];
    if (!there.arrival() || !here.arrival()) continue;
    events.push_back({*there.arrival(), *here.arrival(), there.end, here.end, known->way});
  }
  std::ranges::stable_sort(events, {}, &SharedEvent::known_arrival);
  size_t kept = 0;
  for (const SharedEvent& event : events) {
    if (kept > 0 && event.arrival < events[kept - 1].arrival) continue;
    events[kept++] = event;
  }
  events.resize(kept);
  return events;
}

std::optional<TraceNs> MomentCarrier::carry(TraceNs moment) {
  while (next_ < events_.size() && events_[next_].known_arrival < moment) ++next_;
  if (next_ == events_.size()) {
    // After the last event, only its end can be used.
    if (events_.empty() || !events_.back().known_end || !events_.back().end) return std::nullopt;
    const DurationNs after = moment - *events_.back().known_end;
    return after.ns < 0 ? std::nullopt : std::optional(*events_.back().end + after);
  }
  const SharedEvent& next = events_[next_];
  const DurationNs before = next.known_arrival - moment;
  if (next_ > 0) {
    const SharedEvent& last = events_[next_ - 1];
    if (last.known_end && last.end) {
      const DurationNs after = moment - *last.known_end;
      if (after.ns >= 0 && after < before)
        return std::min(*last.end + after, std::max(next.arrival, *last.end));
      // The moment is after the last event's end, here as there.
      if (after.ns >= 0) return std::max(next.arrival - before, std::min(*last.end, next.arrival));
    }
    return std::max(next.arrival - before, last.arrival);
  }
  return next.arrival - before;
}

}  // namespace dprof::analyzer
