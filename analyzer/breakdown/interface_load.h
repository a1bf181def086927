// SPDX-License-Identifier: Apache-2.0
// Concurrent transfers over a host's interface: a transfer that shares it takes longer even if its
// link is not slow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/interval.h"

namespace dprof::analyzer {

// Hosts by number. Add all transfers before the first query.
class InterfaceLoad {
 public:
  explicit InterfaceLoad(size_t hosts) : changes_(hosts) {}

  void add(std::span<const int> hosts, Interval span);
  void finish();  // O(n log n)
  // The time that a transfer of that span would have taken alone, if concurrent transfers share the
  // busiest of its interfaces evenly. The transfer must have been added.
  [[nodiscard]] int64_t alone_ns(std::span<const int> hosts, Interval span) const;

 private:
  // Number of concurrent transfers from then on.
  struct Change {
    TraceNs at;
    int64_t active = 0;
  };
  [[nodiscard]] std::span<const Change> within(int host, Interval span) const;

  std::vector<std::vector<Change>> changes_;  // by host; sorted when finished
};

}  // namespace dprof::analyzer
