// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/exposure.h"

#include <algorithm>
#include <map>

#include "base/in_threads.h"

namespace dprof::analyzer {
namespace {

using schema::Function;

bool is_compute(Category category) {
  return category == Category::kForward || category == Category::kBackward ||
         category == Category::kOptimizer || category == Category::kOtherCompute;
}

bool computes_in(const LatticePiece& piece, Category phase) {
  return piece.category == phase ||
         (piece.category == Category::kOverlapped && piece.phase == phase);
}

struct Kind {
  size_t group;
  Function function;
  std::optional<int64_t> bytes;
  auto operator<=>(const Kind&) const = default;
};

// Sums over some of the ranks.
struct ExposureSums {
  std::map<Kind, CollectiveOverlap> kinds;
  std::vector<std::optional<int64_t>> hideable_of_step;

  void add(const ExposureSums& more) {
    for (const auto& [kind, other] : more.kinds) {
      const auto [entry, is_new] = kinds.try_emplace(kind, other);
      if (is_new) continue;
      CollectiveOverlap& own = entry->second;
      own.n += other.n;
      own.hidden_ns += other.hidden_ns;
      own.exposed_wait_ns += other.exposed_wait_ns;
      own.exposed_transfer_ns += other.exposed_transfer_ns;
    }
    for (size_t s = 0; s < hideable_of_step.size(); ++s) {
      const std::optional<int64_t>& other = more.hideable_of_step[s];
      if (other) hideable_of_step[s] = hideable_of_step[s].value_or(0) + *other;
    }
  }
};

class Exposer {
 public:
  Exposer(const CommunicationInput& in, Overlap& overlap) : in_(in), overlap_(overlap) {}

  void run() {
    constexpr size_t kRanksAtOnce = 64;
    const size_t ranks = in_.steps.ranks.size();
    std::vector<ExposureSums> parts((ranks + kRanksAtOnce - 1) / kRanksAtOnce);
    in_threads(parts.size(), 0, [&](size_t p) {
      parts[p].hideable_of_step.resize(in_.steps.steady().size());
      const size_t end = std::min(ranks, (p + 1) * kRanksAtOnce);
      for (size_t r = p * kRanksAtOnce; r < end; ++r) add_rank(r, parts[p]);
    });
    ExposureSums all;
    all.hideable_of_step.resize(in_.steps.steady().size());
    for (const ExposureSums& part : parts) all.add(part);
    for (size_t s = 0; s < all.hideable_of_step.size(); ++s)
      overlap_.per_step[s].hideable_ns = all.hideable_of_step[s];
    for (auto& [kind, entry] : all.kinds) overlap_.per_collective.push_back(std::move(entry));
  }

 private:
  // Changes nothing but these sums and the rank's own entry.
  void add_rank(size_t r, ExposureSums& sums) {
    const size_t digest = in_.steps.ranks[r];
    const RankTime time(in_.pieces[digest]);
    const std::span<const AlignedStep> steady = in_.steps.steady();
    std::vector<std::vector<Hideable>> parts(steady.size());
    const bool on_device = !in_.digests[digest].gpu.empty();
    bool any_gradients = false;
    for (const CommSpan& part : comm_spans(in_.digests, in_.matching, digest)) {
      const CollectiveRecord& record = in_.digests[digest].collectives[part.record];
      if (!record.end) continue;
      const std::optional<size_t> step =
          holder_of(steady, part.span.begin, [r](const AlignedStep& s) { return s.windows[r]; });
      if (!step) continue;
      const Interval span = clip(part.span, steady[*step].windows[r]);
      const int64_t wait = std::clamp<int64_t>((part.arrive - span.begin).ns, 0, span.length().ns);
      const Exposure exposure = time.exposure(span, wait);
      add_kind(digest, record, exposure, sums);
      // The results of other collectives may be needed immediately.
      if (!bucket_of(in_, digest, part.record) && record.function != Function::kReduceScatter)
        continue;
      any_gradients = true;
      // A host runs ahead of its GPU: its readiness says nothing about the device.
      const TraceNs ready =
          on_device ? span.begin : record.ready.value_or(record.arrival().value_or(span.begin));
      parts[*step].push_back({ready, exposure.exposed_transfer_ns});
    }
    if (!any_gradients) return;
    int64_t total = 0;
    for (size_t s = 0; s < steady.size(); ++s) {
      const int64_t hideable = hideable_in(time, std::move(parts[s]), steady[s].windows[r]);
      total += hideable;
      sums.hideable_of_step[s] = sums.hideable_of_step[s].value_or(0) + hideable;
    }
    RankOverlap& rank = overlap_.per_rank[r];
    rank.hideable_ns = total;
    if (rank.communication_ns > 0) {
      rank.best_ratio =
          static_cast<double>(rank.hidden_ns + total) / static_cast<double>(rank.communication_ns);
    }
  }

  static Interval clip(Interval span, Interval window) {
    return {std::max(span.begin, window.begin), std::min(span.end, window.end)};
  }

  static int64_t hideable_in(const RankTime& time, std::vector<Hideable> parts, Interval window) {
    if (parts.empty()) return 0;
    const TraceNs first = std::ranges::min(parts, {}, &Hideable::ready).ready;
    const TraceNs deadline = time.optimizer_after(first, window.end).value_or(window.end);
    return most_hideable(time, std::move(parts), deadline);
  }

  void add_kind(size_t digest, const CollectiveRecord& record, const Exposure& exposure,
                ExposureSums& sums) const {
    const size_t group = in_.matching.group_of[digest][record.communicator];
    const auto [entry, is_new] = sums.kinds.try_emplace(Kind{group, record.function, record.bytes});
    CollectiveOverlap& kind = entry->second;
    if (is_new) {
      kind.communicator = in_.matching.groups[group].name;
      kind.function = record.function;
      kind.bytes = record.bytes;
    }
    ++kind.n;
    kind.hidden_ns += exposure.hidden_ns;
    kind.exposed_wait_ns += exposure.exposed_wait_ns;
    kind.exposed_transfer_ns += exposure.exposed_transfer_ns;
  }

  const CommunicationInput& in_;
  Overlap& overlap_;
};

}  // namespace

const TimeIndex& RankTime::covered() const {
  if (!covered_) {
    covered_.emplace(times_where(
        pieces_, [](const LatticePiece& p) { return p.category == Category::kOverlapped; }));
  }
  return *covered_;
}

const TimeIndex& RankTime::free_time() const {
  if (!free_)
    free_.emplace(
        times_where(pieces_, [](const LatticePiece& p) { return is_compute(p.category); }));
  return *free_;
}

const IntervalSet& RankTime::of_phase(Category phase, std::optional<IntervalSet>& kept) const {
  if (!kept)
    kept = times_where(pieces_, [&](const LatticePiece& p) { return computes_in(p, phase); });
  return *kept;
}

Exposure RankTime::exposure(Interval span, int64_t wait_ns) const {
  const TraceNs arrive = span.begin + DurationNs{wait_ns};
  const int64_t hidden_waiting = covered().within(span.begin, arrive);
  const int64_t hidden_moving = covered().within(arrive, span.end);
  return {.hidden_ns = hidden_waiting + hidden_moving,
          .exposed_wait_ns = wait_ns - hidden_waiting,
          .exposed_transfer_ns = (span.end - arrive).ns - hidden_moving};
}

std::optional<TraceNs> RankTime::optimizer_after(TraceNs from, TraceNs to) const {
  const IntervalSet& optimizer = of_phase(Category::kOptimizer, optimizer_);
  const auto next = std::ranges::lower_bound(optimizer, from, {}, &Interval::begin);
  if (next == optimizer.end() || next->begin >= to) return std::nullopt;
  return next->begin;
}

std::optional<TraceNs> RankTime::backward_end(TraceNs from, TraceNs to) const {
  const IntervalSet& backward = of_phase(Category::kBackward, backward_);
  const auto next = std::ranges::lower_bound(backward, to, {}, &Interval::begin);
  if (next == backward.begin()) return std::nullopt;
  const TraceNs end = std::min(to, std::prev(next)->end);
  return end > from ? std::optional(end) : std::nullopt;
}

int64_t most_hideable(const RankTime& time, std::vector<Hideable> parts, TraceNs deadline) {
  // What becomes ready last has the fewest choices, so it chooses first.
  std::ranges::sort(parts, std::ranges::greater(), &Hideable::ready);
  int64_t used = 0;
  for (const Hideable& part : parts) {
    const int64_t left = time.free_compute(part.ready, deadline) - used;
    used += std::clamp<int64_t>(part.exposed_transfer_ns, 0, std::max<int64_t>(0, left));
  }
  return used;
}

std::optional<int64_t> bucket_of(const CommunicationInput& input, size_t digest, size_t record) {
  const CollectiveRecord& own = input.digests[digest].collectives[record];
  const size_t instance = input.matching.instance_of[digest][record];
  if (own.bucket || instance == kNoInstance) return own.bucket;
  return input.matching.instances[instance].bucket;
}

void add_exposure(const CommunicationInput& input, Overlap& overlap) {
  Exposer(input, overlap).run();
}

}  // namespace dprof::analyzer
