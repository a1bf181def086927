// SPDX-License-Identifier: Apache-2.0
// Memory that grows from step to step and is never given back.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/memory/result.h"

namespace dprof::analyzer {

struct LeakSearch {
  bool judged = false;  // there was a series that was long enough
  std::optional<Leak> leak;
  std::string why_not;  // not judged: why
};

// Of one device of one rank, whose steady steps are `windows`. The best series that there is
// counts: allocations where all of them were recorded, then the allocator's statistics, then (host
// memory) the resident set.
[[nodiscard]] LeakSearch find_leak(const RankDigest& digest, const DeviceMemory& device,
                                   std::span<const Interval> windows);

}  // namespace dprof::analyzer
