// SPDX-License-Identifier: Apache-2.0
// GPU rows counted as other tools count them (analysis.md section 4a).
#pragma once

#include <optional>
#include <span>

#include "analyzer/digest/digest.h"
#include "analyzer/digest/gpu_row_counts.h"
#include "analyzer/report/report.h"

namespace dprof::analyzer {

// What the digests counted; a rank's devices are added up. nullopt = no rank has any GPU row.
[[nodiscard]] std::optional<GpuRows> gpu_rows_of(std::span<const RankDigest> digests,
                                                 RowFilter filter);

}  // namespace dprof::analyzer
