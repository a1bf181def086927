// SPDX-License-Identifier: Apache-2.0
// A rank's GPU rows counted as other tools count them (docs/analysis/gpu_rows.md), in the same pass
// over the rows as the rest of the digest.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/digest/attribution.h"
#include "base/interval.h"

namespace dprof::analyzer {

struct Activities;  // gpu_activities.h

// The rows that count, the rounding of their times, and the class of a memset:
//   kAll       every kernel, copy and memset; exact; memory
//   kLinked    those whose launching call has a row, as TraceLens; exact; computation
//   kStepsHta  as HTA: with two steps or more those launched before the last step begins;
//              microseconds, begin up and end down; memory; synchronisations are busy
enum class RowFilter : uint8_t { kAll, kLinked, kStepsHta };
inline constexpr size_t kRowFilters = 3;

struct CountedDevice {
  int64_t device = 0;
  int64_t rows = 0;
  int64_t span_ns = 0;
  int64_t busy_ns = 0;
  int64_t compute_ns = 0;
  int64_t communication_ns = 0;
  int64_t memory_ns = 0;
  int64_t overlap_ns = 0;
};

struct CountedRows {
  std::vector<CountedDevice> devices;                     // by number
  std::vector<std::pair<std::string, int64_t>> left_out;  // by reason, in alphabetical order
};
using GpuRowCounts = std::array<CountedRows, kRowFilters>;  // by RowFilter

struct RowCounting {
  std::span<const LaunchCall> launches;
  std::optional<TraceNs> last_step;  // begin of the last step, if there are at least two
  // Added to a time, gives the time in the recorded file, modulo whole microseconds.
  int64_t to_file_ns = 0;
};

// The activities are in order of their begin. O(rows), no memory per row.
[[nodiscard]] GpuRowCounts count_rows(const Activities& activities, const RowCounting& how);

}  // namespace dprof::analyzer
