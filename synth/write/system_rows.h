// SPDX-License-Identifier: Apache-2.0
// The recorder's outside view of a process and its host, and the allocator's reports.
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
  bool first_of_host = false;  // its trace contains the host's samples
};

struct SystemValue {
  int64_t at = 0;  // true time
  std::string kind;
  std::optional<int64_t> subject;
  int64_t value = 0;
};

// Twice a second, in order of time.
[[nodiscard]] std::vector<SystemValue> system_values(const SystemOrder& order, const Trail& trail);

// In true time, from a caching allocator: blocks are rounded, segments kept for reuse.
[[nodiscard]] std::vector<schema::MemoryEventRow> memory_rows(const Trail& trail, bool gpu);

}  // namespace dprof::synth
