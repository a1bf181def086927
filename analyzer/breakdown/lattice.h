// SPDX-License-Identifier: Apache-2.0
// Every nanosecond of a rank gets exactly one category (docs/analysis/breakdown.md).
#pragma once

#include <concepts>
#include <initializer_list>
#include <vector>

#include "analyzer/digest/detail.h"
#include "analyzer/digest/digest.h"
#include "analyzer/match/match.h"
#include "analyzer/vocabulary/category.h"
#include "analyzer/waits/waits.h"
#include "base/index_iterator.h"

namespace dprof::analyzer {

// A Piece with further details.
struct LatticePiece {
  Interval span;
  Category category = Category::kIdle;
  Category phase = Category::kIdle;
  HostDetail detail = HostDetail::kNone;
};

// Ordered pieces without a gap, of which neighbours differ. Reads like a const vector of
// LatticePiece, but takes 10 bytes for each: a run has more of them than of anything else.
class Lattice {
 public:
  using value_type = LatticePiece;
  using const_iterator = IndexIterator<Lattice>;

  Lattice() = default;
  Lattice(std::initializer_list<LatticePiece> pieces) {
    for (const LatticePiece& piece : pieces) push_back(piece);
  }

  [[nodiscard]] size_t size() const { return begins_.size(); }
  [[nodiscard]] bool empty() const { return begins_.empty(); }
  [[nodiscard]] LatticePiece operator[](size_t at) const {
    const uint16_t kind = kinds_[at];
    const TraceNs end = at + 1 < begins_.size() ? begins_[at + 1] : end_;
    return {{begins_[at], end},
            static_cast<Category>(kind & 15U),
            static_cast<Category>((kind >> 4U) & 15U),
            static_cast<HostDetail>(kind >> 8U)};
  }
  [[nodiscard]] Interval span() const {
    return empty() ? Interval{} : Interval{begins_.front(), end_};
  }
  [[nodiscard]] const_iterator begin() const { return {*this, 0}; }
  [[nodiscard]] const_iterator end() const { return {*this, size()}; }

  // Joins it with the last one if they differ in nothing else. What lies before the end of the last
  // one is left out; a gap becomes an idle piece.
  void push_back(const LatticePiece& piece);
  void reserve(size_t pieces) {
    begins_.reserve(pieces);
    kinds_.reserve(pieces);
  }
  void shrink_to_fit() {
    begins_.shrink_to_fit();
    kinds_.shrink_to_fit();
  }

 private:
  std::vector<TraceNs> begins_;
  std::vector<uint16_t> kinds_;  // category, phase and detail
  TraceNs end_;
};
static_assert(kCategories <= 16);

// The time of the pieces that `chosen` picks.
template <std::predicate<const LatticePiece&> Chosen>
[[nodiscard]] IntervalSet times_where(const Lattice& pieces, Chosen&& chosen) {
  IntervalSet times;
  for (const LatticePiece& piece : pieces) {
    if (!chosen(piece)) continue;
    if (!times.empty() && times.back().end == piece.span.begin) {
      times.back().end = piece.span.end;
    } else {
      times.push_back(piece.span);
    }
  }
  return times;
}

// Covers the whole span of the digest. The time of a rank with GPU rows is divided by its devices
// (gpu_lattice.h), of others by the training thread. O(n log n) in phases, operators and
// collectives; O(pieces) with GPUs.
Lattice lattice_of(const RankDigest& digest, const std::vector<CommSpan>& comm);

}  // namespace dprof::analyzer
