// SPDX-License-Identifier: Apache-2.0
#include "gui/view/figures/grid_waits.h"

#include <algorithm>

#include "gui/view/figures/collective_times.h"
#include "gui/view/figures/notable_ranks.h"

namespace dprof::view {
namespace {

std::optional<int64_t> value_of(const RankModel& rank, GridMeasure measure) {
  switch (measure) {
    case GridMeasure::kWait:
      return rank.wait_per_step ? std::optional(rank.wait_per_step->ns) : std::nullopt;
    case GridMeasure::kWaitedFor:
      return rank.waited_for.ns;
    case GridMeasure::kOwnDelay:
      break;
  }
  return mean_own_delay(rank);
}

// Adds waits to the lines that contain both ends.
class LineSums {
 public:
  LineSums(const Model& model, Interval steady) : model_(model), steady_(steady) {
    for (const GridAxis& axis : model.groups.axes)
      sums_.emplace_back(axis.communicates ? model.ranks.size() / axis.size : 0);
  }

  void add(const analyzer::MatchedCollective& one) {
    if (!one.complete || one.members.size() < 2) return;
    int64_t ns = 0;
    for (const analyzer::CollectiveMember& member : one.members) ns += wait_of(member);
    add(one.members.front().rank, one.members.back().rank, one.members.size(), ns);
  }

  void add(const analyzer::MatchedMessage& one) {
    if (!one.from || !one.to) return;
    int64_t ns = 0;
    for (const auto& side : {one.send, one.receive}) ns += side ? wait_of(*side) : 0;
    add(*one.from, *one.to, std::nullopt, ns);
  }

  LineWaits take(int64_t steps) && {
    for (size_t a = 0; a < sums_.size(); ++a) {
      const int64_t shares = steps * static_cast<int64_t>(model_.groups.axes[a].size);
      for (int64_t& ns : sums_[a]) ns /= shares;
    }
    return std::move(sums_);
  }

 private:
  [[nodiscard]] int64_t wait_of(const analyzer::CollectiveMember& member) const {
    const std::optional<TraceNs> at = arrival_of(member);
    return at && *at >= steady_.begin && *at < steady_.end ? member.wait_ns : 0;
  }

  // Messages count along pipelines; collectives of all ranks of a line along any axis.
  void add(int first, int last, std::optional<size_t> size, int64_t ns) {
    const auto one = model_.index_of_rank(first);
    const auto other = model_.index_of_rank(last);
    if (ns == 0 || !one || !other) return;
    for (size_t a = 0; a < sums_.size(); ++a) {
      const GridAxis& axis = model_.groups.axes[a];
      const bool fits = size ? *size == axis.size : axis.role == RankRole::kPipeline;
      if (fits && axis.communicates && axis.line[*one] == axis.line[*other])
        sums_[a][axis.line[*one]] += ns;
    }
  }

  const Model& model_;
  Interval steady_;
  LineWaits sums_;
};

}  // namespace

GridValues grid_values(const Model& model, GridMeasure measure) {
  GridValues values;
  for (const RankModel& rank : model.ranks) {
    values.ns.push_back(value_of(rank, measure));
    values.high_ns = std::max(values.high_ns, values.ns.back().value_or(0));
  }
  if (!model.report.detection) return values;
  const int64_t floor = model.report.detection->floor_ns;
  const bool guilty = !culprits_of(model).empty();
  if (measure == GridMeasure::kOwnDelay)
    values.low_ns = guilty ? std::min(floor, values.high_ns / 2) : floor;
  values.high_ns = std::max(values.high_ns, 2 * floor);
  return values;
}

LineWaits line_waits(const Model& model) {
  const std::optional<Interval> steady = model.steady();
  LineSums sums(model, steady.value_or(Interval()));
  if (!steady) return std::move(sums).take(1);
  for (const analyzer::MatchedCollective& one : model.collectives) sums.add(one);
  for (const analyzer::MatchedMessage& one : model.messages) sums.add(one);
  return std::move(sums).take(model.report.run.steps->steady);
}

}  // namespace dprof::view
