// SPDX-License-Identifier: Apache-2.0
// The end of the run: each rank's process, and the first failure (docs/analysis/endings.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"

namespace dprof::analyzer {

struct EndedRank {
  int rank = 0;
  // exit (code), signal (signal), complete (a clean end, code unknown), killed (signal unknown),
  // running (at the end of its trace), lost (no trace).
  std::string how;
  std::optional<int64_t> code;
  std::optional<int64_t> signal;
  std::optional<int64_t> time_ns;   // on the run's axis; null: unknown, or clocks not aligned
  bool first = false;               // one of the first that failed
  std::vector<std::string> doing;   // its open ranges and calls, innermost first
  std::string message;              // error of one of its collectives; "" = none
  std::string exception;            // uncaught, "TYPE: MESSAGE"; "" = none was seen
  std::vector<std::string> frames;  // of the exception, "FILE:LINE FUNCTION", innermost first
  std::vector<std::string> output;  // the last lines of its standard error
  DPROF_FIELDS(rank, how, code, signal, time_ns, first, doing, message, exception, frames, output);
};

struct EndVerdict {
  // ok, crash, exception, out_of_memory, hang, early_exit, desync, lost_peer, network_stall,
  // storage_stall, startup_failure, killed, unknown.
  std::string kind;
  std::vector<int> ranks;  // the first to fail, or those that kept others waiting; empty if ok
  double confidence = 0;
  std::string title;                    // one line; "" if ok
  std::vector<std::string> decided_by;  // one sentence each
  DPROF_FIELDS(kind, ranks, confidence, title, decided_by);
};

struct Ending {
  std::vector<EndedRank> ranks;  // by rank
  EndVerdict verdict;
  DPROF_FIELDS(ranks, verdict);
};

}  // namespace dprof::analyzer
