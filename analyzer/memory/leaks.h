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
  bool judged = false;  // a series was long enough
  std::optional<Leak> leak;
  std::string why_not;  // the reason, if not judged
};

// For one device of one rank with the steady steps `windows`. Uses the best available series:
// allocations if all were recorded, else the allocator's statistics, else (host memory) the
// resident set.
[[nodiscard]] LeakSearch find_leak(const RankDigest& digest, const DeviceMemory& device,
                                   std::span<const Interval> windows);

}  // namespace dprof::analyzer
