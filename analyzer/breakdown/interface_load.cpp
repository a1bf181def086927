// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/interface_load.h"

#include <algorithm>
#include <cmath>

namespace dprof::analyzer {

void InterfaceLoad::add(std::span<const int> hosts, Interval span) {
  for (const int host : hosts) {
    changes_[static_cast<size_t>(host)].push_back({span.begin, 1});
    changes_[static_cast<size_t>(host)].push_back({span.end, -1});
  }
}

void InterfaceLoad::finish() {
  for (std::vector<Change>& changes : changes_) {
    std::ranges::sort(changes, {}, &Change::at);
    int64_t active = 0;
    for (Change& change : changes) change.active = active += change.active;
  }
}

// From the state at its begin on.
std::span<const InterfaceLoad::Change> InterfaceLoad::within(int host, Interval span) const {
  const std::vector<Change>& all = changes_[static_cast<size_t>(host)];
  auto first = std::ranges::upper_bound(all, span.begin, {}, &Change::at);
  if (first != all.begin()) --first;
  return {first, std::ranges::lower_bound(all, span.end, {}, &Change::at)};
}

int64_t InterfaceLoad::alone_ns(std::span<const int> hosts, Interval span) const {
  struct Side {
    std::span<const Change> changes;
    size_t next = 0;
    int64_t active = 1;
  };
  std::vector<Side> sides;
  for (const int host : hosts) sides.push_back({within(host, span)});
  double alone = 0;
  for (TraceNs at = span.begin; at < span.end;) {
    TraceNs until = span.end;
    int64_t most = 1;
    for (Side& side : sides) {
      while (side.next < side.changes.size() && side.changes[side.next].at <= at)
        side.active = side.changes[side.next++].active;
      if (side.next < side.changes.size()) until = std::min(until, side.changes[side.next].at);
      most = std::max(most, side.active);
    }
    alone += static_cast<double>((until - at).ns) / static_cast<double>(most);
    at = until;
  }
  return std::llround(alone);
}

}  // namespace dprof::analyzer
