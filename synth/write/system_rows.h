// SPDX-License-Identifier: Apache-2.0
// What the recorder reads of a process and of its host from outside, and what the allocator tells.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schema/generated/rows.h"
#include "synth/engine/trail.h"
#include "synth/model/model.h"

namespace dprof::synth {

struct SystemOrder {
  const Model* model = nullptr;
  int rank = 0;
  int64_t until = 0;
  int64_t os_tid = 0;
  bool first_of_host = false;  // its trace has what the recorder reads of the host
};

struct SystemValue {
  int64_t at = 0;  // true time
  std::string kind;
  std::optional<int64_t> subject;
  int64_t value = 0;
};

// Twice a second, in order of time.
[[nodiscard]] std::vector<SystemValue> system_values(const SystemOrder& order, const Trail& trail);

// In true time, by a caching allocator: blocks are rounded, segments kept for reuse.
[[nodiscard]] std::vector<schema::MemoryEventRow> memory_rows(const Trail& trail, bool gpu);

}  // namespace dprof::synth
