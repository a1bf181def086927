// SPDX-License-Identifier: Apache-2.0
// The cost of each collective to its ranks: how much of it was hidden, how much exposed, and how
// much more could have been hidden (docs/analysis/communication.md).
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

// One rank's computation, for comparison with its collectives; `pieces` must outlive it. Built
// lazily. Memory O(pieces). Threading one thread.
class RankTime {
 public:
  explicit RankTime(const Lattice& pieces) : pieces_(pieces) {}

  // `wait_ns`: the wait for other ranks, from the begin of the span. O(log pieces).
  [[nodiscard]] Exposure exposure(Interval span, int64_t wait_ns) const;
  // Computation with no communication beside it.
  [[nodiscard]] int64_t free_compute(TraceNs begin, TraceNs end) const {
    return free_time().within(begin, end);
  }
  [[nodiscard]] int64_t overlapped(Interval span) const { return covered().within(span); }
  // The first optimizer computation from `from` on; nullopt = none before `to`.
  [[nodiscard]] std::optional<TraceNs> optimizer_after(TraceNs from, TraceNs to) const;
  // The end of the last backward computation within [from, to); nullopt = none.
  [[nodiscard]] std::optional<TraceNs> backward_end(TraceNs from, TraceNs to) const;

 private:
  [[nodiscard]] const TimeIndex& covered() const;  // computation beside communication
  [[nodiscard]] const TimeIndex& free_time() const;
  [[nodiscard]] const IntervalSet& of_phase(Category phase, std::optional<IntervalSet>& kept) const;

  const Lattice& pieces_;
  mutable std::optional<TimeIndex> covered_;
  mutable std::optional<TimeIndex> free_;
  mutable std::optional<IntervalSet> optimizer_;
  mutable std::optional<IntervalSet> backward_;
};

// Upper bound on what can be hidden of exposed transfers that all must finish by `deadline`: each
// needs free computation between its readiness and the deadline, and none is used twice.
struct Hideable {
  TraceNs ready;
  int64_t exposed_transfer_ns = 0;
};
[[nodiscard]] int64_t most_hideable(const RankTime& time, std::vector<Hideable> parts,
                                    TraceNs deadline);

// The DDP bucket that a rank's collective reduced: from its own record, or from the records of the
// same collective on other ranks.
[[nodiscard]] std::optional<int64_t> bucket_of(const CommunicationInput& input, size_t digest,
                                               size_t record);

// Fills in the report's overlap beyond the totals per rank: what could be hidden, per step, and per
// collective. Entries of overlap.per_rank are those of steps.ranks.
void add_exposure(const CommunicationInput& input, Overlap& overlap);

}  // namespace dprof::analyzer
