// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/launches.h"

#include <algorithm>
#include <map>

namespace dprof::analyzer {

void LaunchGatherer::add(TraceNs launch, TraceNs start) {
  launches_.push_back({launch, start});
  if (launches_.size() >= kMost) join_neighbours();
}

void LaunchGatherer::join_neighbours() {
  std::ranges::stable_sort(launches_, {}, &Launch::launch);
  size_t kept = 0;
  for (size_t i = 0; i < launches_.size(); i += 2) {
    launches_[kept] = launches_[i];
    if (i + 1 < launches_.size())
      launches_[kept].start = std::min(launches_[kept].start, launches_[i + 1].start);
    ++kept;
  }
  launches_.resize(kept);
}

std::vector<Launch> LaunchGatherer::take() {
  std::ranges::stable_sort(launches_, {}, &Launch::launch);
  return std::move(launches_);
}

void TokenGatherer::add(int64_t name, TraceNs at) {
  if (!left_out_.empty() && std::ranges::binary_search(left_out_, name)) return;
  tokens_.push_back({name, at});
  if (tokens_.size() >= kMost) leave_out_frequent_ones();
}

void TokenGatherer::leave_out_frequent_ones() {
  std::map<int64_t, size_t> count;
  for (const HostToken& token : tokens_) ++count[token.name];
  std::vector<std::pair<size_t, int64_t>> by_count;
  for (const auto& [name, n] : count) by_count.emplace_back(n, name);
  std::ranges::sort(by_count, std::greater<>());
  size_t left = tokens_.size();
  for (const auto& [n, name] : by_count) {
    if (left <= kMost / 2) break;
    left -= n;
    left_out_.push_back(name);
  }
  std::ranges::sort(left_out_);
  std::erase_if(tokens_, [&](const HostToken& token) {
    return std::ranges::binary_search(left_out_, token.name);
  });
}

std::vector<HostToken> TokenGatherer::take() {
  std::ranges::stable_sort(tokens_, {}, &HostToken::at);
  return std::move(tokens_);
}

}  // namespace dprof::analyzer
