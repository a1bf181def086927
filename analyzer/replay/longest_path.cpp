// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "analyzer/replay/changed_work_internal.h"
#include "analyzer/replay/longest_path_internal.h"

namespace dprof::analyzer {
namespace {

// Lengths are rounded to integers.
constexpr double kRoundedNs = 1;

// The share of a length that disappears with this factor.
double removed(double factor) { return std::max(0.0, 1 - factor); }

}  // namespace

std::optional<LongestPath> LongestPath::of(const PlayedRun& run, std::span<const int64_t> ends) {
  // Transfers that share links also take longer or shorter with the load.
  if (run.links != nullptr && run.links->evidence() == SharedLinks::Evidence::kFor)
    return std::nullopt;
  if (run.steps.empty() || !run.steps.front().begin_ns) return std::nullopt;
  LongestPath path;
  path.work_ns_.resize(run.work_kinds.size(), 0);
  path.entry_ns_.resize(run.ranks.size(), 0);
  path.moves_.resize(run.move_kinds.size());
  path.steps_ = static_cast<double>(run.steps.size());
  for (size_t s = 0; s < run.steps.size(); ++s) {
    const std::vector<TaskId>& last = run.steps[s].last;
    if (last.empty()) return std::nullopt;
    // Steps that begin with the end of their predecessor are together as long as the path to the
    // end of the last of them.
    if (s + 1 < run.steps.size() && !run.steps[s + 1].begin_ns) continue;
    path.trace(run, ends,
               *std::ranges::max_element(last, {}, [&](TaskId task) { return ends[task]; }));
  }
  return path;
}

void LongestPath::trace(const PlayedRun& run, std::span<const int64_t> ends, TaskId last) {
  std::optional<TaskId> at = last;
  while (at) {
    const TaskRole& role = run.roles[*at];
    const auto ns = static_cast<double>(run.durations[*at]);
    ++tasks_;
    if (role.what == TaskRole::What::kMove) {
      Transfers& transfers = moves_[run.moves[role.index].kind];
      transfers.ns += ns;
      ++transfers.n;
    } else if (role.what == TaskRole::What::kWork) {
      const Work& work = run.works[role.index];
      const std::span parts = std::span(run.parts).subspan(work.first_part, work.parts);
      double all = 0;
      for (const WorkPart& part : parts) all += static_cast<double>(part.ns);
      for (const WorkPart& part : parts)
        work_ns_[part.kind] += all <= 0 ? 0 : ns * static_cast<double>(part.ns) / all;
      entry_ns_[work.entry] += ns;
    }
    int64_t ready = run.graph->release(*at);
    std::optional<TaskId> next;
    for (const TaskId before : run.graph->before(*at)) {
      if (ends[before] < ready) continue;
      ready = ends[before];
      next = before;
    }
    at = next;
  }
}

std::optional<double> LongestPath::most_gained(const PlayedRun& run, const Change& change,
                                               const std::optional<Contention>& contention) const {
  const double beside = contention ? removed(1 / std::max(1.0, contention->factor)) : 0;
  double ns = 0;
  const auto add_transfers = [&](const auto& removed_of) {
    for (size_t k = 0; k < moves_.size(); ++k) ns += removed_of(run.move_kinds[k], moves_[k]);
    for (size_t k = 0; k < work_ns_.size(); ++k) {
      if (run.work_kinds[k].category == Category::kOverlapped) ns += beside * work_ns_[k];
    }
  };
  switch (change.subject) {
    case Subject::kStragglers:
    case Subject::kRank:
    case Subject::kHost:
      for (size_t r = 0; r < entry_ns_.size(); ++r) {
        const bool changes = change.subject == Subject::kStragglers ||
                             (change.subject == Subject::kRank ? run.ranks[r] == change.rank
                                                               : run.hosts[r] == change.name);
        if (changes)
          ns += entry_ns_[r] * (change.peers || change.word ? 1 : removed(change.factor));
      }
      break;
    case Subject::kTransfer:
      add_transfers(
          [&](const MoveKind&, const Transfers& t) { return t.ns * removed(change.factor); });
      break;
    case Subject::kBandwidth:
      add_transfers(
          [&](const MoveKind&, const Transfers& t) { return t.ns * removed(1 / change.factor); });
      break;
    case Subject::kLatency:
      add_transfers([&](const MoveKind& kind, const Transfers& t) {
        const double fixed = kind.cost ? std::min(t.ns, t.n * kind.cost->alpha_ns) : 0;
        return fixed * removed(change.factor);
      });
      break;
    case Subject::kOverlap:
      add_transfers([](const MoveKind&, const Transfers& t) { return t.ns; });
      break;
    case Subject::kBucketCap:
      add_transfers(
          [](const MoveKind& kind, const Transfers& t) { return kind.gradients ? t.ns : 0; });
      break;
    case Subject::kAccumulate:
    case Subject::kWorld:
      return std::nullopt;
    default:
      for (size_t k = 0; k < work_ns_.size(); ++k) {
        if (can_change(change, run.work_kinds[k], run.on_device))
          ns += work_ns_[k] * (change.word ? 1 : removed(change.factor));
      }
  }
  return (ns + kRoundedNs * tasks_) / steps_;
}

}  // namespace dprof::analyzer
