// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/gpu_rows.h"

namespace dprof::analyzer {
namespace {

std::string_view word_of(RowFilter filter) {
  switch (filter) {
    case RowFilter::kLinked:
      return "linked";
    case RowFilter::kStepsHta:
      return "steps-hta";
    case RowFilter::kAll:
      break;
  }
  return "all";
}

RankGpuRows sums_of(int rank, const CountedRows& counted) {
  RankGpuRows sums{.rank = rank, .left_out = counted.left_out};
  for (const CountedDevice& device : counted.devices) {
    sums.rows += device.rows;
    sums.span_ns += device.span_ns;
    sums.busy_ns += device.busy_ns;
    sums.idle_ns += device.span_ns - device.busy_ns;
    sums.compute_ns += device.compute_ns;
    sums.communication_ns += device.communication_ns;
    sums.memory_ns += device.memory_ns;
    sums.overlap_ns += device.overlap_ns;
  }
  return sums;
}

}  // namespace

std::optional<GpuRows> gpu_rows_of(std::span<const RankDigest> digests, RowFilter filter) {
  GpuRows rows{.filter = std::string(word_of(filter)), .per_rank = {}};
  for (const RankDigest& digest : digests) {
    if (digest.gpu.rows == 0) continue;
    rows.per_rank.push_back(sums_of(digest.rank, digest.gpu.counted[static_cast<size_t>(filter)]));
  }
  if (rows.per_rank.empty()) return std::nullopt;
  return rows;
}

}  // namespace dprof::analyzer
