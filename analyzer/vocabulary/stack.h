// SPDX-License-Identifier: Apache-2.0
// A frame of a stack captured while the job hung.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/fields.h"

namespace dprof::analyzer {

struct StackFrame {
  std::string kind;  // native, python
  std::string function;
  std::string file;  // source file or library, "" = not known
  std::optional<int64_t> line;
  DPROF_FIELDS(kind, function, file, line);
};

}  // namespace dprof::analyzer
