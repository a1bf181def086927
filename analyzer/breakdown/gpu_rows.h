// SPDX-License-Identifier: Apache-2.0
// GPU rows counted as other tools count them (docs/analysis/gpu_rows.md).
#pragma once

#include <optional>
#include <span>

#include "analyzer/breakdown/result.h"
#include "analyzer/digest/digest.h"
#include "analyzer/digest/gpu_row_counts.h"

namespace dprof::analyzer {

// The digests' counts; a rank's devices are summed. nullopt = no rank has any GPU row.
[[nodiscard]] std::optional<GpuRows> gpu_rows_of(std::span<const RankDigest> digests,
                                                 RowFilter filter);

}  // namespace dprof::analyzer
