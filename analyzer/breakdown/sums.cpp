// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/sums.h"

#include <algorithm>
#include <numeric>

namespace dprof::analyzer {
namespace {

bool holds_up(Category category) {
  return category == Category::kExposedWait || category == Category::kExposedTransfer ||
         category == Category::kDependency;
}

void add(Sums& sums, const LatticePiece& piece, int64_t ns) {
  sums.category_ns[static_cast<size_t>(piece.category)] += ns;
  if (piece.category == Category::kOverlapped)
    sums.overlapped_ns[static_cast<size_t>(piece.phase)] += ns;
  if (piece.detail != HostDetail::kNone) sums.host_ns[static_cast<size_t>(piece.detail)] += ns;
}

IntervalSet stops_of(const Lattice& pieces) {
  std::vector<Interval> stops;
  for (const LatticePiece& piece : pieces) {
    if (holds_up(piece.category)) stops.push_back(piece.span);
  }
  return union_of(std::move(stops));
}

}  // namespace

int64_t Sums::total() const {
  return std::accumulate(category_ns.begin(), category_ns.end(), int64_t{0});
}

Sums& Sums::operator+=(const Sums& other) {
  const auto plus = [](auto& to, const auto& from) {
    for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  };
  plus(category_ns, other.category_ns);
  plus(overlapped_ns, other.overlapped_ns);
  plus(host_ns, other.host_ns);
  return *this;
}

std::vector<Sums> sum_over(const Lattice& pieces, std::span<const Interval> windows) {
  std::vector<Sums> sums(windows.size());
  size_t first = 0;
  for (size_t w = 0; w < windows.size(); ++w) {
    const Interval& window = windows[w];
    if (window.empty()) continue;
    while (first < pieces.size() && pieces[first].span.end <= window.begin) ++first;
    int64_t covered = 0;
    for (size_t p = first; p < pieces.size(); ++p) {
      const LatticePiece& piece = pieces[p];
      if (piece.span.begin >= window.end) break;
      const int64_t ns =
          (std::min(piece.span.end, window.end) - std::max(piece.span.begin, window.begin)).ns;
      add(sums[w], piece, ns);
      covered += ns;
    }
    sums[w].category_ns[static_cast<size_t>(Category::kIdle)] += window.length().ns - covered;
  }
  return sums;
}

OwnClock::OwnClock(const Lattice& pieces) : stops_(stops_of(pieces)), begin_(pieces.span().begin) {}

}  // namespace dprof::analyzer
