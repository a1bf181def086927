// SPDX-License-Identifier: Apache-2.0
// Translates one host's times to the run's axis, with a bound on the error.
//
// Threading  immutable once made; share by const reference.
// Units      ns; offset = how far the host's clock is ahead of the axis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"

namespace dprof::analyzer {

// offset(t) is linear between knots and constant beyond them.
//
// Invariant  knots are in order of time; local - offset grows with local, so order within a host is
//            kept. Without knots it is exactly the identity.
class ClockMap {
 public:
  struct Knot {
    TraceNs local;
    int64_t offset_ns = 0;            // how far the host is ahead of the axis
    std::optional<int64_t> bound_ns;  // half-width that contains the truth; nullopt = unknown
  };

  ClockMap() = default;
  // Knots that would make time run backwards are moved so that it stands still instead.
  explicit ClockMap(std::vector<Knot> knots);

  [[nodiscard]] bool is_identity() const { return knots_.empty(); }
  // All of these are O(log knots).
  [[nodiscard]] int64_t offset_at(TraceNs local) const;
  [[nodiscard]] TraceNs to_axis(TraceNs local) const;
  [[nodiscard]] TraceNs from_axis(TraceNs axis) const;  // accurate to a ns or two
  // Half-width of the error of to_axis; 0 for the identity, nullopt = unknown.
  [[nodiscard]] std::optional<int64_t> bound_at(TraceNs local) const;
  [[nodiscard]] std::optional<int64_t> bound_on_axis(TraceNs axis) const;
  [[nodiscard]] const std::vector<Knot>& knots() const { return knots_; }

 private:
  std::vector<Knot> knots_;
};

// Leads from `inner`'s clock to the axis of `outer`; `inner` leads to `outer`'s clock. Bounds add
// up. O((n + m) log).
[[nodiscard]] ClockMap composed(const ClockMap& inner, const ClockMap& outer);

// The inverse map: from the axis to local time.
[[nodiscard]] ClockMap inverse_of(const ClockMap& map);

// The accuracy of comparing the times of any two ranks. By rank, in the order of the traces.
struct RankClocks {
  std::vector<ClockMap> maps;  // from a rank's times before put_on_axis to the axis

  // Each rank's clock; empty = one each. Where a clock has several recorders: which of them, and
  // how well it is tied to the others.
  std::vector<size_t> clock_of;
  std::vector<int64_t> recorder_of;
  std::vector<int64_t> recorder_bound_ns;

  // Largest error of a time difference between two ranks; nullopt = unknown, 0 = same clock. Times
  // are on the axis.
  [[nodiscard]] std::optional<int64_t> bound_between(size_t rank, TraceNs at, size_t other,
                                                     TraceNs other_at) const;
};

}  // namespace dprof::analyzer
