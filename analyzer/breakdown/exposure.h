// SPDX-License-Identifier: Apache-2.0
// The cost of each collective to its ranks: how much of it computation hid, how much was exposed,
// and how much more could have been hidden (docs/analysis/communication.md).
#pragma once

#include <optional>
#include <vector>

#include "analyzer/breakdown/communication.h"
#include "analyzer/breakdown/time_index.h"

namespace dprof::analyzer {

// One rank's part of a collective. hidden + exposed_wait + exposed_transfer is its length, exactly.
struct Exposure {
  int64_t hidden_ns = 0;  // computation ran beside it
  int64_t exposed_wait_ns = 0;
  int64_t exposed_transfer_ns = 0;

  [[nodiscard]] int64_t exposed_ns() const { return exposed_wait_ns + exposed_transfer_ns; }
};

// The computation of one rank, to hold its collectives against; `pieces` outlive it. What nobody
// asks for is not made. Memory O(pieces). Threading one thread.
class RankTime {
 public:
  explicit RankTime(std::span<const LatticePiece> pieces) : pieces_(pieces) {}

  // `wait_ns`: for how long from the begin of the span others were waited for. O(log pieces).
  [[nodiscard]] Exposure exposure(Interval span, int64_t wait_ns) const;
  // Computation with no communication beside it.
  [[nodiscard]] int64_t free_compute(TraceNs begin, TraceNs end) const {
    return free_time().within(begin, end);
  }
  [[nodiscard]] int64_t overlapped(Interval span) const { return covered().within(span); }
  // The first optimizer's computation from `from` on; nullopt = none before `to`.
  [[nodiscard]] std::optional<TraceNs> optimizer_after(TraceNs from, TraceNs to) const;
  // Where the last computation of a backward within [from, to) ends; nullopt = none.
  [[nodiscard]] std::optional<TraceNs> backward_end(TraceNs from, TraceNs to) const;

 private:
  [[nodiscard]] const TimeIndex& covered() const;  // computation beside communication
  [[nodiscard]] const TimeIndex& free_time() const;
  [[nodiscard]] const IntervalSet& of_phase(Category phase, std::optional<IntervalSet>& kept) const;

  std::span<const LatticePiece> pieces_;
  mutable std::optional<TimeIndex> covered_;
  mutable std::optional<TimeIndex> free_;
  mutable std::optional<IntervalSet> optimizer_;
  mutable std::optional<IntervalSet> backward_;
};

// What could be hidden at most, of exposed transfers that all have to be done at `deadline`: each
// of them needs free computation between its readiness and the deadline, and none is used twice.
struct Hideable {
  TraceNs ready;
  int64_t exposed_transfer_ns = 0;
};
[[nodiscard]] int64_t most_hideable(const RankTime& time, std::vector<Hideable> parts,
                                    TraceNs deadline);

// Which of DDP's buckets a rank's collective reduced: as it was recorded, or as the same collective
// of other ranks says.
[[nodiscard]] std::optional<int64_t> bucket_of(const CommunicationInput& input, size_t digest,
                                               size_t record);

// Fills the report's overlap beyond the totals per rank: what could be hidden, per step, and per
// collective. Entries of overlap.per_rank are those of steps.ranks.
void add_exposure(const CommunicationInput& input, Overlap& overlap);

}  // namespace dprof::analyzer
