// SPDX-License-Identifier: Apache-2.0
// Allocation stacks as one line each.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "schema/generated/rows.h"
#include "schema/trace_reader.h"

namespace dprof::analyzer {

// Memory  all frames of the trace; common parts of stacks are stored once.
class AllocationStacks {
 public:
  explicit AllocationStacks(const schema::TraceReader& reader) : reader_(reader) {}

  Status load();
  // The program's innermost frames, without PyTorch's own if there are others; "" = no such stack.
  [[nodiscard]] std::string words(int64_t stack_id) const;

 private:
  const schema::TraceReader& reader_;
  std::unordered_map<int64_t, schema::CallStackRow> frames_;
};

}  // namespace dprof::analyzer
