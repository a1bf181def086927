// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/op_times.h"

#include <algorithm>
#include <numeric>

namespace dprof::analyzer {

OpTimesGatherer::Side OpTimesGatherer::side_of(Interval span) {
  // Some traces store threads one after the other: then the cursor has to go back.
  if (next_ > 0 && communication_[next_ - 1].end > span.begin) {
    next_ = static_cast<size_t>(
        std::ranges::upper_bound(communication_, span.begin, {}, &Interval::end) -
        communication_.begin());
  }
  while (next_ < communication_.size() && communication_[next_].end <= span.begin) ++next_;
  if (next_ == communication_.size() || communication_[next_].begin >= span.end)
    return Side::kAlone;
  const Interval& beside = communication_[next_];
  return beside.begin <= span.begin && span.end <= beside.end ? Side::kBeside : Side::kPartly;
}

void OpTimesGatherer::add(TraceNs& covered_to, int64_t name_id, Interval span) {
  if (communication_.empty() || span.empty() || span.begin < covered_to) return;
  covered_to = span.end;
  const Side side = side_of(span);
  const auto id = static_cast<size_t>(name_id);
  if (side == Side::kPartly || name_id < 0 || id >= slots_.size()) return;
  if (slots_[id] == 0) {
    if (times_.size() >= kMostNames) return;
    times_.emplace_back();
    ids_.push_back(name_id);
    slots_[id] = times_.size();
  }
  OpTimes& times = times_[slots_[id] - 1];
  if (side == Side::kAlone) return times.alone.add(span.length().ns);
  times.beside.add(span.length().ns);
  times.beside_ns += span.length().ns;
}

std::vector<OpTimes> OpTimesGatherer::take_unnamed() {
  std::vector<size_t> order(times_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::erase_if(order, [&](size_t i) {
    return times_[i].alone.count() < kFewest || times_[i].beside.count() < kFewest;
  });
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](size_t i) { return times_[i].beside_ns; });
  if (order.size() > kMostKept) order.resize(kMostKept);
  std::vector<OpTimes> kept;
  for (const size_t i : order) {
    kept.push_back(std::move(times_[i]));
    kept_ids_.push_back(ids_[i]);
  }
  return kept;
}

void OpSumsGatherer::add(int64_t name_id, bool is_node, Interval span) {
  if (name_id < 0 || span.empty()) return;
  const auto id = static_cast<size_t>(name_id);
  if (id >= sums_.size()) sums_.resize(id + 1);
  const bool in_backward = is_node || span.begin < node_until_;
  if (is_node) node_until_ = std::max(node_until_, span.end);
  Sum& sum = sums_[id];
  if (span.begin < sum.until) return;
  sum.until = span.end;
  (in_backward ? sum.backward_ns : sum.other_ns) += span.length().ns;
}

std::vector<size_t> OpSumsGatherer::longest() const {
  const auto length = [this](size_t id) { return sums_[id].backward_ns + sums_[id].other_ns; };
  std::vector<size_t> ids(sums_.size());
  std::iota(ids.begin(), ids.end(), size_t{0});
  std::erase_if(ids, [&](size_t id) { return length(id) == 0; });
  std::ranges::stable_sort(ids, std::ranges::greater(), length);
  if (ids.size() > OpSum::kMostKept) ids.resize(OpSum::kMostKept);
  return ids;
}

}  // namespace dprof::analyzer
