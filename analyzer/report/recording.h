// SPDX-License-Identifier: Apache-2.0
// What a run is, and what its recording holds, lost and cost.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/report/report.h"
#include "analyzer/run/run.h"

namespace dprof::analyzer {

// `steps`: nullptr = none were found.
[[nodiscard]] RunInfo run_info_of(const Run& run, std::span<const TraceFile> traces,
                                  std::span<const RankDigest> digests, const StepsInfo* steps);

// Of the ranks analysed. What the recorders remarked and what was lost comes behind `notes`, which
// the recording takes over.
[[nodiscard]] Recording recording_of(std::span<const RankDigest> digests,
                                     std::span<const TraceFile> traces,
                                     std::vector<Diagnostic> notes);

}  // namespace dprof::analyzer
