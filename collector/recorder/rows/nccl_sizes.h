// SPDX-License-Identifier: Apache-2.0
// From the count of an NCCL call to the size of this rank's input.
#pragma once

#include <cstdint>
#include <optional>

#include "schema/data_type.h"
#include "schema/generated/rows.h"

namespace dprof::recorder {

// NCCL counts per rank: the input of an all_gather, the output of a reduce_scatter, the part for
// each peer. `count` in elements or in bytes; nullopt if it or the number of ranks is unknown.
[[nodiscard]] inline std::optional<int64_t> input_elements(schema::Function function, int64_t count,
                                                           std::optional<int64_t> ranks) {
  using schema::Function;
  if (count < 0) return std::nullopt;
  const bool per_peer = function == Function::kReduceScatter || function == Function::kAllToAll ||
                        function == Function::kScatter;
  if (!per_peer) return count;
  int64_t all = 0;
  if (!ranks || __builtin_mul_overflow(count, *ranks, &all)) return std::nullopt;
  return all;
}

[[nodiscard]] inline std::optional<int64_t> elements_to_bytes(int64_t elements,
                                                              schema::DataType type) {
  int64_t bytes = 0;
  const std::optional<int64_t> each = bytes_of(type);
  if (!each || __builtin_mul_overflow(elements, *each, &bytes)) return std::nullopt;
  return bytes;
}

}  // namespace dprof::recorder
