// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/lattice.h"

#include <algorithm>

#include "analyzer/breakdown/comm_cursor.h"
#include "analyzer/breakdown/gpu_lattice.h"
#include "analyzer/breakdown/run_queue.h"
#include "analyzer/steps/phases.h"

namespace dprof::analyzer {
namespace {

using schema::Marker;

// Walks a canonical set along with a sweep.
class Cursor {
 public:
  explicit Cursor(const IntervalSet& set) : set_(set) {}

  bool covers(TraceNs at) {
    while (next_ < set_.size() && set_[next_].end <= at) ++next_;
    return next_ < set_.size() && set_[next_].begin <= at;
  }

 private:
  const IntervalSet& set_;
  size_t next_ = 0;
};

class PhaseCursor {
 public:
  explicit PhaseCursor(const std::vector<PhasePiece>& pieces) : pieces_(pieces) {}

  Marker at(TraceNs time) {
    while (next_ < pieces_.size() && pieces_[next_].span.end <= time) ++next_;
    return next_ < pieces_.size() && pieces_[next_].span.begin <= time ? pieces_[next_].marker
                                                                       : Marker::kNone;
  }

 private:
  const std::vector<PhasePiece>& pieces_;
  size_t next_ = 0;
};

Category compute_of(Marker phase, bool in_node) {
  return in_node ? Category::kBackward : compute_in(phase);
}

struct Moment {
  Marker phase;
  bool in_node;
  bool in_op;
  bool blocked;
  bool named;
  bool allocates;
  bool collects;  // garbage
  bool logs;
  bool profiler;
  const CommSpan* comm;
};

bool computes(const Moment& m) {
  if (m.blocked) return false;
  if (m.in_node) return true;
  // Operators within the loader belong to the loader.
  if (m.phase == Marker::kInput || m.phase == Marker::kCheckpoint) return false;
  if (m.in_op) return true;
  return !m.allocates && !m.collects && compute_of(m.phase, false) != Category::kOtherCompute;
}

LatticePiece plain(Category category, HostDetail detail = HostDetail::kNone) {
  return {{}, category, category, detail};
}

HostDetail detail_of(const Moment& m) {
  if (m.collects) return HostDetail::kGc;
  if (m.phase == Marker::kCheckpoint) return HostDetail::kCheckpoint;
  if (m.logs) return HostDetail::kLogging;
  return m.named ? HostDetail::kRange : HostDetail::kUnattributed;
}

LatticePiece classify(const Moment& m, TraceNs at) {
  if (m.profiler) return plain(Category::kProfiler);
  const Category compute = compute_of(m.phase, m.in_node);
  if (m.comm != nullptr) {
    if (computes(m)) return {{}, Category::kOverlapped, compute};
    return plain(at < m.comm->arrive ? Category::kExposedWait : Category::kExposedTransfer);
  }
  if (computes(m)) return plain(compute);
  if (m.blocked) return plain(Category::kDependency);
  if (m.phase == Marker::kInput) return plain(Category::kInputWait);
  if (m.allocates) return plain(Category::kAllocator);
  return plain(Category::kHost, detail_of(m));
}

void add_borders(std::vector<TraceNs>& borders, const IntervalSet& set) {
  for (const Interval& interval : set) {
    borders.push_back(interval.begin);
    borders.push_back(interval.end);
  }
}

// In an operation table an idle rank is waiting for another one.
IntervalSet between_operations(const RankDigest& digest, const std::vector<CommSpan>& comm) {
  std::vector<Interval> busy;
  for (const PhaseRange& phase : digest.phases) busy.push_back(phase.span);
  for (const CommSpan& span : comm) busy.push_back(span.span);
  return difference_of({digest.span}, union_of(std::move(busy)));
}

Lattice host_lattice_of(const RankDigest& digest, const std::vector<CommSpan>& comm) {
  const std::vector<PhaseRange> ranges = with_inferred_phases(digest);
  const std::vector<PhasePiece> phases = innermost(ranges);
  const IntervalSet blocked =
      digest.operations ? between_operations(digest, comm) : blocked_times(digest, ranges);
  const IntervalSet nodes = union_of(digest.autograd, digest.autograd_elsewhere);

  std::vector<TraceNs> borders = {digest.span.begin, digest.span.end};
  for (const PhasePiece& piece : phases) {
    borders.push_back(piece.span.begin);
    borders.push_back(piece.span.end);
  }
  for (const IntervalSet* set : {&blocked, &nodes, &digest.ops, &digest.named, &digest.allocations,
                                 &digest.gc, &digest.logging, &digest.profiler})
    add_borders(borders, *set);
  for (const CommSpan& span : comm) {
    borders.push_back(span.span.begin);
    borders.push_back(span.span.end);
    borders.push_back(span.arrive);
  }
  std::ranges::sort(borders);

  PhaseCursor phase(phases);
  Cursor node(nodes);
  Cursor op(digest.ops);
  Cursor block(blocked);
  Cursor name(digest.named);
  Cursor allocation(digest.allocations);
  Cursor gc(digest.gc);
  Cursor logging(digest.logging);
  Cursor profiler(digest.profiler);
  CommCursor collective(comm);
  Lattice pieces;
  for (size_t b = 0; b + 1 < borders.size(); ++b) {
    const TraceNs at = borders[b];
    const TraceNs end = std::min(borders[b + 1], digest.span.end);
    if (at < digest.span.begin || end <= at) continue;
    LatticePiece next = classify({.phase = phase.at(at),
                                  .in_node = node.covers(at),
                                  .in_op = op.covers(at),
                                  .blocked = block.covers(at),
                                  .named = name.covers(at),
                                  .allocates = allocation.covers(at),
                                  .collects = gc.covers(at),
                                  .logs = logging.covers(at),
                                  .profiler = profiler.covers(at),
                                  .comm = collective.at(at)},
                                 at);
    next.span = {at, end};
    pieces.push_back(next);
  }
  return pieces;
}

}  // namespace

void Lattice::push_back(const LatticePiece& piece) {
  const auto add = [&](TraceNs begin, Category category, Category phase, HostDetail detail) {
    const auto kind =
        static_cast<uint16_t>(static_cast<unsigned>(category) | static_cast<unsigned>(phase) << 4U |
                              static_cast<unsigned>(detail) << 8U);
    if (!kinds_.empty() && kinds_.back() == kind) return;
    begins_.push_back(begin);
    kinds_.push_back(kind);
  };
  const TraceNs begin = empty() ? piece.span.begin : std::max(piece.span.begin, end_);
  if (piece.span.end <= begin) return;
  if (!empty() && begin > end_) add(end_, Category::kIdle, Category::kIdle, HostDetail::kNone);
  add(begin, piece.category, piece.phase, piece.detail);
  end_ = piece.span.end;
}

Lattice lattice_of(const RankDigest& digest, const std::vector<CommSpan>& comm) {
  if (digest.span.empty()) return {};
  const bool has_gpu = !digest.gpu.empty();
  Lattice pieces = has_gpu ? gpu_lattice_of(digest, comm) : host_lattice_of(digest, comm);
  pieces = with_run_queue(std::move(pieces), digest.run_queue, !has_gpu);
  pieces.shrink_to_fit();
  return pieces;
}

}  // namespace dprof::analyzer
