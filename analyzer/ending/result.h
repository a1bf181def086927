// SPDX-License-Identifier: Apache-2.0
// The end of the run: each rank's process, and what failed first (docs/analysis/endings.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"

namespace dprof::analyzer {

struct EndedRank {
  int rank = 0;
  // exit (code), signal (signal), complete (a clean end, code not known), killed (signal not
  // known), running (when its trace ended), lost (no trace).
  std::string how;
  std::optional<int64_t> code;
  std::optional<int64_t> signal;
  std::optional<int64_t> time_ns;   // on the run's axis; null: not known, or clocks not aligned
  bool first = false;               // one of those that failed first
  std::vector<std::string> doing;   // what it was in, the innermost first
  std::string message;              // the error that a collective of it ended with; "" = none
  std::string exception;            // that nobody caught, "TYPE: MESSAGE"; "" = none was seen
  std::vector<std::string> frames;  // of it, "FILE:LINE FUNCTION", the innermost first
  std::vector<std::string> output;  // the last lines of its standard error
  DPROF_FIELDS(rank, how, code, signal, time_ns, first, doing, message, exception, frames, output);
};

struct EndVerdict {
  // ok, crash, exception, out_of_memory, hang, early_exit, desync, lost_peer, network_stall,
  // storage_stall, startup_failure, killed, unknown.
  std::string kind;
  std::vector<int> ranks;  // that failed first, or kept the others waiting; empty where ok
  double confidence = 0;
  std::string title;                    // one line; "" where ok
  std::vector<std::string> decided_by;  // a sentence each
  DPROF_FIELDS(kind, ranks, confidence, title, decided_by);
};

struct Ending {
  std::vector<EndedRank> ranks;  // by rank
  EndVerdict verdict;
  DPROF_FIELDS(ranks, verdict);
};

}  // namespace dprof::analyzer
