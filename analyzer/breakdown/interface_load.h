// SPDX-License-Identifier: Apache-2.0
// Concurrent transfers over a host's interface: a transfer that shares it with others takes long
// although its link is not slow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/interval.h"

namespace dprof::analyzer {

// Hosts by number. First all transfers, then the questions.
class InterfaceLoad {
 public:
  explicit InterfaceLoad(size_t hosts) : changes_(hosts) {}

  void add(std::span<const int> hosts, Interval span);
  void finish();  // O(n log n)
  // How long a transfer of that span would have taken with nothing beside it, if those that are on
  // the way at once share the busiest of its interfaces evenly. It is one of those added.
  [[nodiscard]] int64_t alone_ns(std::span<const int> hosts, Interval span) const;

 private:
  // How many are on the way from then on.
  struct Change {
    TraceNs at;
    int64_t active = 0;
  };
  [[nodiscard]] std::span<const Change> within(int host, Interval span) const;

  std::vector<std::vector<Change>> changes_;  // by host; sorted when finished
};

}  // namespace dprof::analyzer
