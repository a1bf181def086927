// SPDX-License-Identifier: Apache-2.0
#include "analyzer/waits/waits.h"

#include <algorithm>

#include "analyzer/match/match.h"
#include "analyzer/waits/messages.h"
#include "analyzer/waits/wait.h"

namespace dprof::analyzer {
namespace {

void order_by_arrival(Matching& matching, std::span<const RankDigest> digests) {
  const auto first_arrival = [&](const Instance& instance) {
    TraceNs first{INT64_MAX};
    for (const Member& m : instance.members) {
      const auto arrival = digests[m.digest].collectives[m.record].arrival();
      if (arrival) first = std::min(first, *arrival);
    }
    return first;
  };
  std::vector<std::pair<TraceNs, size_t>> order;
  for (size_t i = 0; i < matching.instances.size(); ++i)
    order.emplace_back(first_arrival(matching.instances[i]), i);
  std::ranges::sort(order);
  std::vector<Instance> sorted;
  sorted.reserve(order.size());
  for (const auto& [time, i] : order) {
    const auto number = static_cast<uint32_t>(sorted.size());
    for (const Member& m : matching.instances[i].members)
      matching.instance_of[m.digest][m.record] = number;
    sorted.push_back(std::move(matching.instances[i]));
  }
  matching.instances = std::move(sorted);
}

}  // namespace

void settle_times(Matching& matching, std::span<const RankDigest> digests,
                  const Alignment& alignment) {
  for (Instance& instance : matching.instances) {
    if (instance.comparable) divide(instance, digests, matching.groups[instance.group], alignment);
  }
  order_by_arrival(matching, digests);
  match_messages(digests, alignment, matching);
}

}  // namespace dprof::analyzer
