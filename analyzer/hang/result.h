// SPDX-License-Identifier: Apache-2.0
// The verdict on a hang: its kind, and which ranks the others waited for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/vocabulary/stack.h"
#include "base/fields.h"
#include "schema/generated/rows.h"

namespace dprof::analyzer {

// A rank's state in the hang.
struct HungRank {
  int rank = 0;
  std::string state;                // not_called, queued, running, done, no_data
  std::string last;                 // its last known activity, in words; "" = unknown
  std::optional<int64_t> since_ns;  // since its last sign of life
  std::vector<StackFrame> stack;    // of its first thread, if it was taken
  DPROF_FIELDS(rank, state, last, since_ns, stack);
};

struct Hang {
  std::string state;  // waiting, mismatch, deadlock, dead
  std::vector<int> culprits;
  std::vector<int> waiting;
  std::string communicator;
  schema::Function function{};
  std::optional<int64_t> sequence;
  std::string reason;           // how it was decided, in one sentence
  std::vector<HungRank> ranks;  // culprits first
};

}  // namespace dprof::analyzer
