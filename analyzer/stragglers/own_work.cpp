// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/own_work.h"

#include <algorithm>

#include "analyzer/vocabulary/loss.h"
#include "analyzer/vocabulary/thresholds.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

// An autograd node without an operator for this long ran something else: a hook.
constexpr DurationNs kHook{1'000'000};

OwnKind host_kind_of(HostDetail detail) {
  switch (detail) {
    case HostDetail::kGc:
      return OwnKind::kGc;
    case HostDetail::kCheckpoint:
      return OwnKind::kCheckpoint;
    case HostDetail::kLogging:
      return OwnKind::kLogging;
    case HostDetail::kRange:
      return OwnKind::kRange;
    case HostDetail::kOptimizer:
      return OwnKind::kOptimizerHost;
    case HostDetail::kPreempted:
    case HostDetail::kRunnable:
      return OwnKind::kRunnable;
    default:
      return OwnKind::kUnattributed;
  }
}

OwnKind compute_kind_of(Category phase) {
  switch (phase) {
    case Category::kForward:
      return OwnKind::kForward;
    case Category::kBackward:
      return OwnKind::kBackward;
    case Category::kOptimizer:
      return OwnKind::kOptimizer;
    default:
      return OwnKind::kOtherCompute;
  }
}

// The host's share of a phase that has a compute kind of its own.
OwnKind outside_of_operators(OwnKind kind) {
  if (kind == OwnKind::kForward) return OwnKind::kForwardHost;
  if (kind == OwnKind::kBackward) return OwnKind::kBackwardHost;
  if (kind == OwnKind::kOptimizer) return OwnKind::kOptimizerHost;
  return kind;
}

// The known times of operators on a rank's threads.
IntervalSet operators_of(const RankDigest& digest) {
  const IntervalSet nodes = union_of(digest.autograd, digest.autograd_elsewhere);
  std::vector<Interval> without;
  for (const Interval& one : difference_of(nodes, digest.ops)) {
    if (one.length() < kHook) without.push_back(one);
  }
  return union_of(digest.ops, union_of(std::move(without)));
}

struct Window {
  Interval span;
  KindNs kinds{};
};

// When a rank's collectives ended; nothing if that is not known of all of them.
std::optional<std::vector<TraceNs>> ends_of(const RankDigest& digest) {
  if (std::ranges::any_of(digest.losses, [](const LossRecord& l) { return is_lost(l.reason); }))
    return std::nullopt;
  std::vector<TraceNs> ends;
  for (const CollectiveRecord& record : digest.collectives) {
    const std::optional<TraceNs> end = record.end;
    if (!end) return std::nullopt;
    ends.push_back(*end);
  }
  std::ranges::sort(ends);
  return ends;
}

// The known times of a rank's operators, and of the ends of its collectives.
struct Operators {
  IntervalSet spans;
  std::optional<std::vector<TraceNs>> ends;

  // Of the time between the operators from the `first` on within `part`, while a collective runs:
  // what the thread did not wait. A wait ends with a collective, so what follows the last end is
  // none.
  [[nodiscard]] int64_t busy_between(size_t first, Interval part) const {
    if (!ends) return 0;
    int64_t busy = 0;
    for (size_t o = std::max<size_t>(first, 1); o < spans.size(); ++o) {
      const Interval gap{spans[o - 1].end, spans[o].begin};
      if (gap.begin >= part.end) break;
      TraceNs since = std::max(gap.begin, part.begin);
      const auto later = std::ranges::upper_bound(*ends, gap.end);
      if (later != ends->begin()) since = std::max(since, *std::prev(later));
      busy += std::max<int64_t>(0, (std::min(gap.end, part.end) - since).ns);
    }
    return busy;
  }
};

// Distributes a rank's pieces over its windows. `operators` nullptr: a phase's time is computation.
void deal(const Lattice& pieces, const Operators* operators, std::vector<Window>& windows) {
  size_t first = 0;
  size_t op = 0;
  for (Window& window : windows) {
    if (window.span.empty()) continue;
    while (first < pieces.size() && pieces[first].span.end <= window.span.begin) ++first;
    for (size_t p = first; p < pieces.size(); ++p) {
      const LatticePiece& piece = pieces[p];
      if (piece.span.begin >= window.span.end) break;
      const std::optional<OwnKind> kind = own_kind_of(piece);
      if (!kind) continue;
      const Interval part{std::max(piece.span.begin, window.span.begin),
                          std::min(piece.span.end, window.span.end)};
      int64_t outside = 0;
      const OwnKind other = outside_of_operators(*kind);
      if (operators != nullptr && other != *kind) {
        const IntervalSet& spans = operators->spans;
        while (op < spans.size() && spans[op].end <= part.begin) ++op;
        outside = part.length().ns;
        for (size_t o = op; o < spans.size() && spans[o].begin < part.end; ++o) {
          outside -= (std::min(spans[o].end, part.end) - std::max(spans[o].begin, part.begin)).ns;
        }
        // During a collective and outside operators the thread presumably waits for it.
        const bool waits = piece.category == Category::kOverlapped;
        window.kinds[index_of(other)] += waits ? operators->busy_between(op, part) : outside;
      }
      window.kinds[index_of(*kind)] += part.length().ns - outside;
    }
  }
}

// By operators if they were recorded and the rank has no GPU.
void deal(const RankDigest& digest, const Lattice& pieces, bool by_operators,
          std::vector<Window>& windows) {
  const bool divide = by_operators && digest.gpu.empty() && !digest.ops.empty();
  Operators operators;
  if (divide) operators = {operators_of(digest), ends_of(digest)};
  deal(pieces, divide ? &operators : nullptr, windows);
}

std::vector<Window> windows_of(const Steps& steps, size_t rank, bool on_device) {
  std::vector<Window> windows;
  for (size_t s = steps.first_steady; s <= steps.last_steady; ++s) {
    const AlignedStep& step = steps.steps[s];
    windows.push_back({on_device ? *step.device_windows[rank] : steps.until_next(s, rank)});
  }
  return windows;
}

bool all_on_device(const Steps& steps) {
  return std::ranges::all_of(steps.steady(), [](const AlignedStep& step) {
    return !step.device_windows.empty() &&
           std::ranges::all_of(step.device_windows, [](const auto& w) { return w.has_value(); });
  });
}

// Steps in which a rank with lost records has fewer collectives than usual.
std::vector<bool> incomplete_steps(const RankDigest& digest, const std::vector<Window>& host) {
  std::vector<bool> incomplete(host.size(), false);
  if (std::ranges::none_of(digest.losses, [](const LossRecord& l) { return is_lost(l.reason); }))
    return incomplete;
  std::vector<int64_t> counts(host.size(), 0);
  for (const CollectiveRecord& record : digest.collectives) {
    const std::optional<TraceNs> at = record.arrival();
    if (!at) continue;
    if (const auto window = holder_of(host, *at, &Window::span)) ++counts[*window];
  }
  const int64_t usual = median_ns(counts);
  for (size_t s = 0; s < counts.size(); ++s) incomplete[s] = counts[s] < usual;
  return incomplete;
}

// Fills unknown times with the rank's usual ones.
void fill_incomplete(std::vector<Window>& windows, const std::vector<bool>& incomplete) {
  if (std::ranges::none_of(incomplete, [](bool b) { return b; })) return;
  KindNs usual{};
  for (size_t k = 0; k < kOwnKinds; ++k) {
    std::vector<int64_t> values;
    for (size_t s = 0; s < windows.size(); ++s) {
      if (!incomplete[s]) values.push_back(windows[s].kinds[k]);
    }
    if (!values.empty()) usual[k] = median_ns(std::move(values));
  }
  for (size_t s = 0; s < windows.size(); ++s) {
    if (incomplete[s]) windows[s].kinds = usual;
  }
}

// Whether operators were recorded well enough to separate computation from host time: on each rank
// they make up most of its forward and of its backward.
bool has_operators(const std::vector<std::vector<Window>>& windows) {
  for (const auto& [inside, outside] : {std::pair{OwnKind::kForward, OwnKind::kForwardHost},
                                        std::pair{OwnKind::kBackward, OwnKind::kBackwardHost}}) {
    std::vector<double> shares;
    for (const std::vector<Window>& of_rank : windows) {
      double ops = 0;
      double all = 0;
      for (const Window& window : of_rank) {
        ops += static_cast<double>(window.kinds[index_of(inside)]);
        all +=
            static_cast<double>(window.kinds[index_of(inside)] + window.kinds[index_of(outside)]);
      }
      if (all > 0) shares.push_back(ops / all);
    }
    if (!shares.empty() && quantile(shares, 0.75) < limit::kFewOps) return false;
  }
  return true;
}

}  // namespace

std::optional<OwnKind> own_kind_of(const LatticePiece& piece) {
  switch (piece.category) {
    case Category::kForward:
    case Category::kBackward:
    case Category::kOptimizer:
    case Category::kOtherCompute:
      if (piece.detail == HostDetail::kRunnable) return OwnKind::kRunnable;
      return compute_kind_of(piece.category);
    case Category::kOverlapped:
      if (piece.detail == HostDetail::kRunnable) return OwnKind::kRunnable;
      return compute_kind_of(piece.phase);
    case Category::kExposedWait:
    case Category::kExposedTransfer:
    case Category::kDependency:
      return std::nullopt;
    case Category::kCopy:
      return piece.phase == Category::kHost ? OwnKind::kCheckpoint : OwnKind::kCopy;
    case Category::kInputWait:
      return OwnKind::kInput;
    case Category::kSyncBubble:
      return OwnKind::kSyncBubble;
    case Category::kAllocator:
      return OwnKind::kAllocator;
    case Category::kHost:
      return host_kind_of(piece.detail);
    case Category::kLaunch:
    case Category::kIdle:
      return OwnKind::kStarved;
    case Category::kProfiler:
      return OwnKind::kProfiler;
  }
  return OwnKind::kStarved;
}

OwnWork own_work_of(std::span<const RankDigest> digests, const Steps& steps,
                    std::span<const Lattice> pieces) {
  OwnWork work;
  work.on_device = all_on_device(steps);
  for (size_t s = steps.first_steady; s <= steps.last_steady; ++s) work.steps.push_back(s);
  const size_t ranks = steps.ranks.size();
  std::vector<std::vector<Window>> windows(ranks);
  for (const bool with_operators : {true, false}) {
    for (size_t r = 0; r < ranks; ++r) {
      windows[r] = windows_of(steps, r, work.on_device);
      deal(digests[steps.ranks[r]], pieces[steps.ranks[r]], with_operators, windows[r]);
    }
    work.by_operators = with_operators;
    if (has_operators(windows)) break;
  }
  work.own_ns.resize(ranks);
  work.kind_ns.resize(ranks);
  for (size_t r = 0; r < ranks; ++r) {
    const std::vector<bool> incomplete =
        incomplete_steps(digests[steps.ranks[r]], windows_of(steps, r, false));
    work.unknown_entries += std::ranges::count(incomplete, true);
    fill_incomplete(windows[r], incomplete);
    for (const Window& window : windows[r]) {
      int64_t own = 0;
      for (const int64_t ns : window.kinds) own += ns;
      work.own_ns[r].push_back(own);
      work.kind_ns[r].push_back(window.kinds);
    }
  }
  return work;
}

std::vector<KindNs> kinds_over(const RankDigest& digest, const Lattice& pieces, bool by_operators,
                               std::span<const Interval> spans) {
  std::vector<Window> windows;
  for (const Interval& span : spans) windows.push_back({.span = span});
  deal(digest, pieces, by_operators, windows);
  std::vector<KindNs> kinds;
  for (const Window& window : windows) kinds.push_back(window.kinds);
  return kinds;
}

}  // namespace dprof::analyzer
