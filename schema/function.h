// SPDX-License-Identifier: Apache-2.0
// What the functions of collectives have in common.
#pragma once

#include "schema/generated/rows.h"

namespace dprof::schema {

// From one rank to one other: not every rank of the communicator takes part.
[[nodiscard]] constexpr bool is_message(Function function) {
  return function == Function::kSend || function == Function::kRecv;
}

}  // namespace dprof::schema
