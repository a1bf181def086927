// SPDX-License-Identifier: Apache-2.0
#include "analyzer/waits/waits.h"

#include <algorithm>

#include "analyzer/match/match.h"
#include "analyzer/waits/messages.h"
#include "analyzer/waits/wait.h"
#include "base/in_threads.h"

namespace dprof::analyzer {
namespace {

void order_by_arrival(Matching& matching, std::span<const RankDigest> digests) {
  std::vector<std::pair<TraceNs, size_t>> order(matching.instances.size());
  for_each_in_threads(order.size(), [&](size_t i) {
    TraceNs first{INT64_MAX};
    for (const Member& m : matching.instances[i].members) {
      const auto arrival = digests[m.digest].collectives[m.record].arrival();
      if (arrival) first = std::min(first, *arrival);
    }
    order[i] = {first, i};
  });
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
  for_each_in_threads(matching.instances.size(), [&](size_t i) {
    Instance& instance = matching.instances[i];
    if (instance.comparable) divide(instance, digests, matching.groups[instance.group], alignment);
  });
  order_by_arrival(matching, digests);
  match_messages(digests, alignment, matching);
}

}  // namespace dprof::analyzer
