// SPDX-License-Identifier: Apache-2.0
// Describes the run and its recording: contents, losses, overhead.
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

// Covers the analysed ranks. Moves `notes` into the result, followed by the recorders' remarks and
// the losses.
[[nodiscard]] Recording recording_of(std::span<const RankDigest> digests,
                                     std::span<const TraceFile> traces,
                                     std::vector<Diagnostic> notes);

}  // namespace dprof::analyzer
