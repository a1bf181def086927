// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/hidden_waits.h"

#include <algorithm>

namespace dprof::analyzer {
namespace {

constexpr DurationNs kShortestWait{100'000};  // shorter ones occur between operators anyway
constexpr DurationNs kWakeUp{200'000};        // from the end of a collective until its thread runs
constexpr double kMostOfIt = 0.8;             // of the wait, before the collective ended
constexpr DurationNs kSameStart{1'000};       // a kernel that begins where a gap ends
constexpr double kCovered = 0.5;  // of computation with nothing beside it, by its operators

bool is_phase(const LatticePiece& piece) {
  return piece.category <= Category::kOptimizer ||
         (piece.category == Category::kOverlapped && piece.phase <= Category::kOptimizer);
}

bool is_stop(const LatticePiece& piece) {
  return piece.category == Category::kExposedWait || piece.category == Category::kExposedTransfer;
}

// Operators make up most of the computation outside collectives: the remaining time is not a phase
// without recorded operators.
bool knows_operators(const RankDigest& digest, const Lattice& pieces) {
  std::vector<Interval> alone;
  for (const LatticePiece& piece : pieces) {
    if (piece.category <= Category::kBackward) alone.push_back(piece.span);
  }
  const auto all = static_cast<double>(measure(alone).ns);
  return all > 0 && static_cast<double>(overlap_ns(alone, digest.ops)) >= kCovered * all;
}

IntervalSet waits_of(const RankDigest& digest) {
  std::vector<Interval> calls;  // by end
  for (const CollectiveRecord& record : digest.collectives) {
    if (record.arrival() && record.end) calls.push_back({*record.arrival(), *record.end});
  }
  std::ranges::sort(calls, {}, &Interval::end);
  std::vector<Interval> waits;
  for (Interval gap : difference_of({digest.span}, digest.ops)) {
    // Consecutive waits, from the last one: a call after a wait ends its stretch.
    while (gap.length() >= kShortestWait) {
      const auto after = std::ranges::upper_bound(calls, gap.end, {}, &Interval::end);
      if (after == calls.begin()) break;
      const Interval& call = *std::prev(after);
      if (gap.end - call.end > kWakeUp || call.end <= gap.begin) break;
      const TraceNs begin = std::max(gap.begin, call.begin);
      const auto all = static_cast<double>((gap.end - begin).ns);
      if (begin >= call.end || static_cast<double>((call.end - begin).ns) < kMostOfIt * all) break;
      waits.push_back({begin, call.end});
      gap.end = begin;
    }
  }
  waits = union_of(std::move(waits));
  return waits;
}

}  // namespace

Lattice with_hidden_waits(const RankDigest& digest, const Lattice& pieces) {
  Lattice result;
  if (!digest.gpu.empty() || digest.ops.empty() || !knows_operators(digest, pieces)) return pieces;
  const IntervalSet waits = waits_of(digest);
  result.reserve(pieces.size() + 2 * waits.size());
  size_t next = 0;
  for (const LatticePiece& piece : pieces) {
    while (next < waits.size() && waits[next].end <= piece.span.begin) ++next;
    if (!is_phase(piece)) {
      result.push_back(piece);
      continue;
    }
    TraceNs at = piece.span.begin;
    for (size_t w = next; w < waits.size() && waits[w].begin < piece.span.end; ++w) {
      const TraceNs begin = std::max(waits[w].begin, at);
      const TraceNs end = std::min(waits[w].end, piece.span.end);
      if (begin > at) result.push_back({{at, begin}, piece.category, piece.phase, piece.detail});
      result.push_back({{begin, end}, Category::kExposedWait, Category::kExposedWait});
      at = end;
    }
    if (at < piece.span.end)
      result.push_back({{at, piece.span.end}, piece.category, piece.phase, piece.detail});
  }
  return result;
}

IntervalSet launch_waits_of(const RankDigest& digest, const Lattice& pieces) {
  if (digest.gpu.empty() || digest.gpu.launches.empty()) return {};
  std::vector<TraceNs> communication;
  std::vector<TraceNs> ends;
  std::vector<Interval> calls;
  for (const CollectiveRecord& record : digest.collectives) {
    if (record.start) communication.push_back(*record.start);
    if (record.end) ends.push_back(*record.end);
    if (record.start && record.end) calls.push_back({*record.start, *record.end});
  }
  const IntervalSet under_way = union_of(std::move(calls));
  std::ranges::sort(communication);
  std::ranges::sort(ends);
  std::vector<Launch> kernels;
  for (const Launch& launch : digest.gpu.launches) {
    if (!std::ranges::binary_search(communication, launch.start)) kernels.push_back(launch);
  }
  std::ranges::sort(kernels, {}, &Launch::start);
  std::vector<Interval> waits;
  for (size_t p = 0; p < pieces.size();) {
    if (!is_stop(pieces[p])) {
      ++p;
      continue;
    }
    Interval gap = pieces[p].span;
    while (++p < pieces.size() && is_stop(pieces[p])) gap.end = pieces[p].span.end;
    const auto next = std::ranges::lower_bound(kernels, gap.end - kSameStart, {}, &Launch::start);
    if (next == kernels.end() || next->launch <= gap.begin) continue;
    const auto after = std::ranges::upper_bound(ends, next->launch);
    const bool one_ended = after != ends.begin() && *std::prev(after) > gap.begin;
    const auto call = std::ranges::upper_bound(under_way, next->launch, {}, &Interval::end);
    const bool beside = call != under_way.end() && call->begin <= next->launch;
    if (beside && !one_ended) waits.push_back({gap.begin, std::min(next->launch, gap.end)});
  }
  return waits;
}

Lattice with_launch_waits(const Lattice& pieces, const IntervalSet& waits) {
  Lattice result;
  result.reserve(pieces.size() + 2 * waits.size());
  size_t next = 0;
  for (const LatticePiece& piece : pieces) {
    while (next < waits.size() && waits[next].end <= piece.span.begin) ++next;
    TraceNs at = piece.span.begin;
    for (size_t w = next; is_stop(piece) && w < waits.size() && waits[w].begin < piece.span.end;
         ++w) {
      const TraceNs begin = std::max(waits[w].begin, at);
      const TraceNs end = std::min(waits[w].end, piece.span.end);
      if (begin > at) result.push_back({{at, begin}, piece.category, piece.phase, piece.detail});
      result.push_back({{begin, end}, Category::kLaunch, Category::kIdle});
      at = end;
    }
    if (at < piece.span.end)
      result.push_back({{at, piece.span.end}, piece.category, piece.phase, piece.detail});
  }
  return result;
}

}  // namespace dprof::analyzer
