// SPDX-License-Identifier: Apache-2.0
// Events shared by two ranks. They convert a time of one rank to the other without comparing
// clocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"

namespace dprof::analyzer {

enum class Way : uint8_t { kTogether, kFromKnown, kToKnown };  // a collective, or who sent it

// A collective or message shared by both: when each rank arrived, and when it ended there.
struct SharedEvent {
  TraceNs known_arrival;
  TraceNs arrival;
  std::optional<TraceNs> known_end;
  std::optional<TraceNs> end;
  Way way = Way::kTogether;
};

// Finds the events that any rank shares with one whose steps are known. Holds references.
// Cost  O(records of the known rank) to construct, O(records of the other) per query.
class SharedWith {
 public:
  SharedWith(std::span<const RankDigest> digests, const Matching& matching, size_t known);

  // In order of the known rank's arrivals, without those that the other rank has in another order.
  [[nodiscard]] std::vector<SharedEvent> events(size_t other) const;

 private:
  struct Counterpart {
    size_t record;  // of the known rank
    Way way;
  };
  [[nodiscard]] std::optional<Counterpart> counterpart_of(size_t other, size_t record) const;

  std::span<const RankDigest> digests_;
  const Matching& matching_;
  size_t known_;
  std::vector<size_t> record_of_instance_;  // kNoInstance: the known rank is not a member
};

// Converts ascending moments of the known rank to the other rank's time: the distance to the
// nearest shared event, the arrival at the next or the end of the last one, is taken to be the same
// there. nullopt before the first and after the last shared event.
class MomentCarrier {
 public:
  explicit MomentCarrier(std::span<const SharedEvent> events) : events_(events) {}

  [[nodiscard]] std::optional<TraceNs> carry(TraceNs moment);

 private:
  std::span<const SharedEvent> events_;
  size_t next_ = 0;
};

}  // namespace dprof::analyzer
