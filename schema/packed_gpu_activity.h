// SPDX-License-Identifier: Apache-2.0
// The storage of GPU activities: each step launches the same kernels on the same streams, so
// these are stored once in `_gpu_activity_traits`, with the kernel's launch dimensions, and only
// number, times and correlation in `_gpu_activity`. The views `gpu_activity` and `kernel_shape`
// show them as rows (docs/design/schema.md).
#pragma once

#include <optional>
#include <string>

#include "schema/generated/rows.h"

namespace dprof::schema {

// An activity with its launch dimensions, which only kernels at detail full have; their
// `activity_id` is ignored.
struct ShapedActivity {
  static constexpr const Table& kTable = GpuActivityRow::kTable;

  GpuActivityRow activity;
  std::optional<KernelShapeRow> shape = {};
};

// Both parts of a row; `traits_id` and the traits' `id` are still to be set.
struct PackedGpuActivity {
  PackedGpuActivityRow row;
  GpuActivityTraitsRow traits;
};

// Exact for every row.
[[nodiscard]] PackedGpuActivity pack(const ShapedActivity& shaped);

// The row again, without its shape. Always true, as every two can belong together.
[[nodiscard]] bool unpack(const PackedGpuActivityRow& packed, const GpuActivityTraitsRow& traits,
                          GpuActivityRow& row);

// CREATE VIEW gpu_activity, CREATE VIEW kernel_shape.
[[nodiscard]] std::string create_gpu_activity_views();

}  // namespace dprof::schema
