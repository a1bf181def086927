// SPDX-License-Identifier: Apache-2.0
// From the count that an NCCL call names to this rank's input.
#pragma once

#include <cstdint>
#include <optional>

#include "schema/generated/rows.h"

namespace dprof::recorder {

[[nodiscard]] constexpr int64_t bytes_of(schema::DataType type) {
  using schema::DataType;
  switch (type) {
    case DataType::kUnknown:
      return 0;
    case DataType::kUint8:
    case DataType::kInt8:
    case DataType::kBool:
    case DataType::kFloat8:
      return 1;
    case DataType::kInt16:
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return 2;
    case DataType::kInt32:
    case DataType::kFloat32:
      return 4;
    case DataType::kInt64:
    case DataType::kFloat64:
    case DataType::kComplex64:
      return 8;
    case DataType::kComplex128:
      return 16;
  }
  return 0;
}

// NCCL counts per rank: what a rank gives to an all_gather, what it gets from a reduce_scatter,
// what goes to each peer. `count` in elements or in bytes; nullopt where it or the ranks are not
// known.
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
  if (bytes_of(type) == 0 || __builtin_mul_overflow(elements, bytes_of(type), &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

}  // namespace dprof::recorder
