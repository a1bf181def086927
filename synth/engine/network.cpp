// SPDX-License-Identifier: Apache-2.0
#include "synth/engine/network.h"

#include <algorithm>
#include <cmath>

namespace dprof::synth {

size_t Network::begin(std::vector<int> links, double ns, int64_t now) {
  size_t id = transfers_.size();
  if (free_.empty()) {
    transfers_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Transfer& t = transfers_[id];
  const uint32_t version = t.version + 1;
  t = {.links = std::move(links),
       .left = ns,
       .since = now,
       .end = now + std::llround(ns),
       .version = version,
       .active = true};
  for (const int link : t.links) active_[static_cast<size_t>(link)].push_back(id);
  settle(transfers_[id].links, now);
  if (std::ranges::find(changed_, id) == changed_.end()) changed_.push_back(id);
  return id;
}

void Network::end(size_t transfer, int64_t now) {
  Transfer& t = transfers_[transfer];
  t.active = false;
  ++t.version;
  const std::vector<int> links = t.links;
  for (const int link : links) std::erase(active_[static_cast<size_t>(link)], transfer);
  free_.push_back(transfer);
  settle(links, now);
}

// Updates the share of every transfer on these links from now on.
void Network::settle(const std::vector<int>& links, int64_t now) {
  changed_.clear();
  for (const int link : links) {
    for (const size_t id : active_[static_cast<size_t>(link)]) {
      if (std::ranges::find(changed_, id) == changed_.end()) changed_.push_back(id);
    }
  }
  std::erase_if(changed_, [&](size_t id) {
    Transfer& t = transfers_[id];
    size_t most = 1;
    for (const int link : t.links) most = std::max(most, active_[static_cast<size_t>(link)].size());
    const double share = 1 / static_cast<double>(most);
    if (share == t.share) return true;
    t.left = std::max(0.0, t.left - static_cast<double>(now - t.since) * t.share);
    t.share = share;
    t.since = now;
    t.end = now + std::llround(t.left / share);
    ++t.version;
    return false;
  });
}

}  // namespace dprof::synth
