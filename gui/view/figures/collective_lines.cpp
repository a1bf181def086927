// SPDX-License-Identifier: Apache-2.0
#include "gui/view/figures/collective_lines.h"

#include <algorithm>
#include <numeric>

#include "gui/view/figures/collective_times.h"

namespace dprof::view {

std::optional<DurationNs> arrival_spread(const analyzer::MatchedCollective& collective) {
  const auto members = arrivals_of(collective);
  if (members.size() < 2) return std::nullopt;
  return *arrival_of(*members.back()) - *arrival_of(*members.front());
}

std::vector<uint32_t> sorted_collectives(const Model& model, CollectiveOrder order,
                                         const std::optional<CollectiveKind>& kind) {
  std::vector<int64_t> keys;
  for (const analyzer::MatchedCollective& one : model.collectives) {
    switch (order) {
      case CollectiveOrder::kByTime:
        keys.push_back(extent_of(one).begin.ns);
        break;
      case CollectiveOrder::kByWait:
        keys.push_back(-longest_wait(one));
        break;
      case CollectiveOrder::kByTransfer:
        keys.push_back(-one.transfer_ns);
        break;
      case CollectiveOrder::kBySize:
        keys.push_back(-one.bytes.value_or(-1));
        break;
    }
  }
  std::vector<uint32_t> sorted(model.collectives.size());
  std::iota(sorted.begin(), sorted.end(), 0U);
  if (kind) {
    std::erase_if(
        sorted, [&](uint32_t index) { return kind_of(model, model.collectives[index]) != *kind; });
  }
  std::ranges::stable_sort(sorted, {}, [&](uint32_t index) {
    return std::pair(model.collectives[index].complete, keys[index]);
  });
  return sorted;
}

}  // namespace dprof::view
