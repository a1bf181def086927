// SPDX-License-Identifier: Apache-2.0
// GPU rows counted as other tools count them (analysis.md section 4a).
#pragma once

#include <optional>
#include <span>

#include "analyzer/report/report.h"
#include "analyzer/run.h"
#include "base/result.h"

namespace dprof::analyzer {

// Which rows count, how their times are rounded, and what a memset is:
//   kAll       every kernel, copy and memset; exact; memory
//   kLinked    those whose launching call has a row, as TraceLens; exact; computation
//   kStepsHta  as HTA: with two steps or more those launched before the last step begins;
//              microseconds, begin up and end down; memory; synchronisations are busy
enum class RowFilter : uint8_t { kAll, kLinked, kStepsHta };

// Reads each trace's GPU rows once, one trace after the other. nullopt = no trace has any.
// Several devices of a rank are counted apart and added up. Memory 16 bytes per row of one trace,
// and for the latter two modes 32 per API call.
Result<std::optional<GpuRows>> gpu_rows_of(std::span<const TraceFile> traces, RowFilter filter);

}  // namespace dprof::analyzer
