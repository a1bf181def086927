// SPDX-License-Identifier: Apache-2.0
// The element size of a collective's data.
#pragma once

#include <cstdint>
#include <optional>

#include "schema/generated/rows.h"

namespace dprof::schema {

// nullopt = unknown type.
[[nodiscard]] constexpr std::optional<int64_t> bytes_of(DataType type) {
  switch (type) {
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
    case DataType::kUnknown:
      break;
  }
  return std::nullopt;
}

}  // namespace dprof::schema
