// SPDX-License-Identifier: Apache-2.0
// Category totals over windows, and the clock of a rank's own work.
#pragma once

#include <span>
#include <vector>

#include "analyzer/breakdown/lattice.h"
#include "analyzer/breakdown/time_index.h"

namespace dprof::analyzer {

struct Sums {
  CategoryNs category_ns{};
  std::array<int64_t, kCategories> overlapped_ns{};  // kOverlapped, by the phase that covers it
  std::array<int64_t, kHostDetails> host_ns{};       // by HostDetail, which implies the category

  [[nodiscard]] int64_t of(Category category) const {
    return category_ns[static_cast<size_t>(category)];
  }
  [[nodiscard]] int64_t of(HostDetail detail) const { return host_ns[static_cast<size_t>(detail)]; }
  // A phase's computation, with or without a collective beside it.
  [[nodiscard]] int64_t compute_of(Category phase) const {
    return of(phase) + overlapped_ns[static_cast<size_t>(phase)];
  }
  [[nodiscard]] int64_t total() const;
  Sums& operator+=(const Sums& other);
};

// One entry per window. Windows are sorted and disjoint; time outside of all pieces counts as idle,
// so that each entry's categories sum to its window exactly. O(pieces + windows).
std::vector<Sums> sum_over(const Lattice& pieces, std::span<const Interval> windows);

// Own work is all time in which no collective held the rank up: a clock that stands still while the
// rank waits. Its differences are the rank's own work, independent of other ranks.
class OwnClock {
 public:
  explicit OwnClock(const Lattice& pieces);

  // Own work from the first piece until `time`. O(log n).
  [[nodiscard]] int64_t at(TraceNs time) const { return (time - begin_).ns - stops_.before(time); }
  [[nodiscard]] const IntervalSet& stops() const { return stops_.set(); }

 private:
  TimeIndex stops_;
  TraceNs begin_;
};

}  // namespace dprof::analyzer
