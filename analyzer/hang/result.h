// SPDX-License-Identifier: Apache-2.0
// The verdict on a hang: its kind, and for whom the ranks waited.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/vocabulary/stack.h"
#include "base/fields.h"
#include "schema/generated/rows.h"

namespace dprof::analyzer {

// What a rank was at when everything stood still.
struct HungRank {
  int rank = 0;
  std::string state;  // not_called, queued, running, done, no_data
  std::string last;   // the last thing that it is known to have done, in words; "" = unknown
  std::optional<int64_t> since_ns;  // for how long nothing more was heard of it
  std::vector<StackFrame> stack;    // of its first thread, where it was taken
  DPROF_FIELDS(rank, state, last, since_ns, stack);
};

struct Hang {
  std::string state;  // waiting, mismatch, deadlock, dead
  std::vector<int> culprits;
  std::vector<int> waiting;
  std::string communicator;
  schema::Function function{};
  std::optional<int64_t> sequence;
  std::string reason;           // one sentence: how it was decided
  std::vector<HungRank> ranks;  // culprits first
};

}  // namespace dprof::analyzer
