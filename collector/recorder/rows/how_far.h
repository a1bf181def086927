// SPDX-License-Identifier: Apache-2.0
// The progress of one process, for the watch over a whole job.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schema/generated/rows.h"

namespace dprof::recorder {

// A collective or message that was called and is not known to have finished.
struct OpenCall {
  uint64_t communicator = 0;  // its hash: the same for all members
  std::string group;          // its name, "" = none
  schema::Function function{};
  int64_t sequence = 0;  // among its communicator's calls of this function
  int64_t position = 0;  // among all its communicator's calls
  int64_t since_ns = 0;
  // True if its end would be seen. NCCL's ends are not seen if no call of the communicator had one
  // (without CUPTI): then the last call counts as open, and may have ended.
  bool observed = true;
};

struct HowFar {
  using Call = std::pair<uint64_t, schema::Function>;  // communicator, function

  bool recording = true;
  int64_t steps = 0;             // completed
  int64_t median_step_ns = 0;    // of the last ones
  int64_t last_progress_ns = 0;  // when a step or a collective was last completed
  int64_t last_record_ns = 0;
  std::vector<OpenCall> open;      // the oldest first
  std::map<Call, int64_t> called;  // the next sequence
};

}  // namespace dprof::recorder
