// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/host_numbers.h"

#include <algorithm>
#include <set>

namespace dprof::analyzer {

HostNumbers::HostNumbers(std::span<const TraceFile> traces) {
  std::map<std::string, int> numbers;
  for (const TraceFile& trace : traces) {
    const std::string& host = trace.host.empty() ? trace.clock_id : trace.host;
    const auto [known, is_new] = numbers.try_emplace(host, static_cast<int>(names_.size()));
    if (is_new) names_.push_back(host);
    of_rank_[trace.rank] = known->second;
  }
}

bool HostNumbers::know(std::span<const int> ranks) const {
  return std::ranges::all_of(ranks, [&](int rank) { return of_rank_.contains(rank); });
}

std::vector<int> HostNumbers::of(std::span<const int> ranks) const {
  std::set<int> hosts;
  for (const int rank : ranks) {
    if (const auto host = of_rank_.find(rank); host != of_rank_.end()) hosts.insert(host->second);
  }
  return {hosts.begin(), hosts.end()};
}

std::vector<int> HostNumbers::ranks_on(int host) const {
  std::vector<int> ranks;
  for (const auto& [rank, number] : of_rank_) {
    if (number == host) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace dprof::analyzer
