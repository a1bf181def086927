// SPDX-License-Identifier: Apache-2.0
// A stack in one line: where a thread is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "schema/generated/rows.h"

namespace dprof::schema {

struct StackPlace {
  StackKind kind{};
  std::string function;
  std::string file;  // "" = not known
  std::optional<int64_t> line;
};

// "lock_twice (train.py:58), called by main (train.py:125)": the innermost frames of the Python
// stack if there is one, else of the native one, without those of the C library. `frames`: of one
// thread, each stack from the innermost frame on. "" = no frame has a name.
[[nodiscard]] std::string words_of_stack(std::span<const StackPlace> frames);

}  // namespace dprof::schema
