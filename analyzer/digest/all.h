// SPDX-License-Identifier: Apache-2.0
// Digests the traces of a run, one on each core at a time.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/run/run.h"
#include "analyzer/vocabulary/progress.h"
#include "base/result.h"

namespace dprof::analyzer {

// One result per trace, in their order. Fails only when `progress` cancels; what has begun is then
// waited for.
Result<std::vector<Result<RankDigest>>> digest_all(std::span<const TraceFile> traces, bool cache,
                                                   const Progress& progress);

}  // namespace dprof::analyzer
