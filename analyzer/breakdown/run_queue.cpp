// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/run_queue.h"

#include <algorithm>

namespace dprof::analyzer {
namespace {

constexpr int64_t kOneInMany = 100;  // the least share that counts is one in this many

// The detail of a piece if the thread had no core then; kNone = it needed none.
HostDetail without_core(const LatticePiece& piece, bool computes) {
  if (piece.category == Category::kHost &&
      (piece.detail == HostDetail::kRange || piece.detail == HostDetail::kUnattributed))
    return HostDetail::kPreempted;
  const bool is_phase = piece.category <= Category::kOtherCompute;
  return computes && is_phase ? HostDetail::kRunnable : HostDetail::kNone;
}

class Dealer {
 public:
  Dealer(const Lattice& pieces, bool computes) : pieces_(pieces), computes_(computes) {
    result_.reserve(pieces.size());
  }

  // The next stretch of time, with `waited_ns` in a queue.
  void deal(TraceNs from, TraceNs to, int64_t waited_ns) {
    size_t end = next_;
    int64_t wanted = 0;
    for (; end < pieces_.size() && pieces_[end].span.begin < to; ++end) {
      if (without_core(pieces_[end], computes_) != HostDetail::kNone)
        wanted += part(pieces_[end], from, to).length().ns;
    }
    const int64_t waited = std::min(waited_ns, wanted);
    const bool some = waited > 0 && waited >= wanted / kOneInMany;
    int64_t before = 0;
    for (size_t p = next_; p < end; ++p) {
      const Interval span = part(pieces_[p], from, to);
      if (span.empty()) continue;
      const HostDetail detail = without_core(pieces_[p], computes_);
      if (!some || detail == HostDetail::kNone) {
        put(pieces_[p], span, pieces_[p].detail);
        continue;
      }
      // The parts' lengths add up to the waited time, to the nanosecond.
      const int64_t after = before + span.length().ns;
      const int64_t share = share_of(after, waited, wanted) - share_of(before, waited, wanted);
      before = after;
      const TraceNs border{span.end.ns - share};
      put(pieces_[p], {span.begin, border}, pieces_[p].detail);
      put(pieces_[p], {border, span.end}, detail);
    }
    while (next_ < pieces_.size() && pieces_[next_].span.end <= to) ++next_;
  }

  Lattice take() && { return std::move(result_); }

 private:
  static Interval part(const LatticePiece& piece, TraceNs from, TraceNs to) {
    return {std::max(piece.span.begin, from), std::min(piece.span.end, to)};
  }
  // `wanted` is at least `waited`, which is above 0.
  static int64_t share_of(int64_t ns, int64_t waited, int64_t wanted) {
    const __int128 part = static_cast<__int128>(ns) * waited;
    return static_cast<int64_t>(part / wanted);  // NOLINT(clang-analyzer-core.DivideZero): as above
  }

  void put(const LatticePiece& piece, Interval span, HostDetail detail) {
    result_.push_back({span, piece.category, piece.phase, detail});
  }

  const Lattice& pieces_;
  const bool computes_;
  size_t next_ = 0;
  Lattice result_;
};

}  // namespace

Lattice with_run_queue(Lattice pieces, std::span<const RunQueueSample> samples, bool computes) {
  if (samples.size() < 2 || pieces.empty()) return pieces;
  Dealer dealer(pieces, computes);
  const TraceNs end = pieces.span().end;
  TraceNs at = pieces.span().begin;
  for (size_t s = 1; s < samples.size() && at < end; ++s) {
    const TraceNs from = std::clamp(samples[s - 1].at, at, end);
    const TraceNs to = std::clamp(samples[s].at, from, end);
    if (at < from) dealer.deal(at, from, 0);
    // The part of the sampled stretch outside of the pieces keeps its share.
    const int64_t sampled = (samples[s].at - samples[s - 1].at).ns;
    const int64_t waited = std::max<int64_t>(0, samples[s].waited_ns - samples[s - 1].waited_ns);
    if (from < to) {
      const auto share = static_cast<double>((to - from).ns) / static_cast<double>(sampled);
      dealer.deal(from, to, static_cast<int64_t>(share * static_cast<double>(waited)));
    }
    at = to;
  }
  if (at < end) dealer.deal(at, end, 0);
  return std::move(dealer).take();
}

}  // namespace dprof::analyzer
