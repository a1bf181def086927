// SPDX-License-Identifier: Apache-2.0
// The `c10d::*` operators: the collective of each, and the positions of tensors, root and peer in
// its arguments (torch's c10d/Ops.cpp).
//
// Threading  constant data.
#pragma once

#include <cstdint>
#include <string_view>

namespace dprof::inject::torch_source {

inline constexpr std::string_view kC10dPrefix = "c10d::";
inline constexpr std::string_view kGlooPrefix = "gloo:";

struct CollectiveOp {
  std::string_view name;  // without the prefix
  uint8_t function;       // wire::function
  int8_t input;           // argument that holds this rank's input; -1 = none
  int8_t output;          // argument to take instead where the input is empty (scatter)
  int8_t root;            // argument, -1 = none
  int8_t peer;
};

// Null for an operator that is no collective, or not known.
[[nodiscard]] const CollectiveOp* find_collective_op(std::string_view name) noexcept;

}  // namespace dprof::inject::torch_source
