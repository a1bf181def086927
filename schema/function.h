// SPDX-License-Identifier: Apache-2.0
// Properties of the functions of collectives, and how their groups are named in a sentence.
#pragma once

#include <algorithm>
#include <string>

#include "schema/generated/rows.h"

namespace dprof::schema {

// From one rank to another: not every rank of the communicator takes part.
[[nodiscard]] constexpr bool is_message(Function function) {
  return function == Function::kSend || function == Function::kRecv;
}

// Python numbers groups without a name: "0" says nothing in a sentence.
[[nodiscard]] inline std::string group_in_text(const std::string& name) {
  if (name.empty()) return "an unnamed group";
  const bool is_number = std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? "group " + name : name;
}

}  // namespace dprof::schema
