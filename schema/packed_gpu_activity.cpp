// SPDX-License-Identifier: Apache-2.0
#include "schema/packed_gpu_activity.h"

#include <fmt/format.h>

#include <string_view>

#include "schema/traits.h"

namespace dprof::schema {

PackedGpuActivity pack(const ShapedActivity& shaped) {
  const GpuActivityRow& row = shaped.activity;
  PackedGpuActivity packed{.row = {.id = row.id,
                                   .start_ns = row.start_ns,
                                   .duration_ns = row.duration_ns,
                                   .correlation = row.correlation},
                           .traits = {.device_id = row.device_id,
                                      .stream_id = row.stream_id,
                                      .name_id = row.name_id,
                                      .kind = row.kind,
                                      .bytes = row.bytes,
                                      .graph_node = row.graph_node,
                                      .graph = row.graph}};
  if (!shaped.shape) return packed;
  const KernelShapeRow& shape = *shaped.shape;
  packed.traits.grid_x = shape.grid_x;
  packed.traits.grid_y = shape.grid_y;
  packed.traits.grid_z = shape.grid_z;
  packed.traits.block_x = shape.block_x;
  packed.traits.block_y = shape.block_y;
  packed.traits.block_z = shape.block_z;
  packed.traits.registers = shape.registers;
  packed.traits.static_shared_bytes = shape.static_shared_bytes;
  packed.traits.dynamic_shared_bytes = shape.dynamic_shared_bytes;
  return packed;
}

bool unpack(const PackedGpuActivityRow& packed, const GpuActivityTraitsRow& traits,
            GpuActivityRow& row) {
  row = {.id = packed.id,
         .device_id = traits.device_id,
         .stream_id = traits.stream_id,
         .start_ns = packed.start_ns,
         .duration_ns = packed.duration_ns,
         .name_id = traits.name_id,
         .kind = traits.kind,
         .bytes = traits.bytes,
         .correlation = packed.correlation,
         .graph_node = traits.graph_node,
         .graph = traits.graph};
  return true;
}

// The order of the joins is fixed, as rows come in order of their ids.
std::string create_gpu_activity_views() {
  const auto as_stored = [](std::string_view) { return std::string(); };
  const auto id = [](std::string_view column) {
    return std::string(column == "activity_id" ? "r.id" : "");
  };
  return fmt::format(
      "CREATE VIEW \"gpu_activity\" AS SELECT {} FROM _gpu_activity AS r LEFT JOIN _gpu_activity_traits AS t ON t.id = r.traits_id;\n"
      "CREATE VIEW \"kernel_shape\" AS SELECT {} FROM _gpu_activity AS r CROSS JOIN _gpu_activity_traits AS t ON t.id = r.traits_id WHERE t.grid_x IS NOT NULL;\n",
      view_columns(kGpuActivityColumns, kPackedGpuActivityColumns, as_stored),
      view_columns(kKernelShapeColumns, {}, id));
}

}  // namespace dprof::schema
