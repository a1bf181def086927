// SPDX-License-Identifier: Apache-2.0
// A run: a folder of traces, or single traces, opened for reading.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/vocabulary/diagnostic.h"
#include "base/result.h"

namespace dprof::analyzer {

// One rank's trace, as described by its `meta`. nullopt = unknown.
struct TraceFile {
  std::filesystem::path path;
  int rank = 0;
  std::optional<int> local_rank;
  std::optional<int> world_size;
  std::string host;
  std::string clock_id;  // equal clock ids share one clock
  std::string ended;     // complete, process_killed, recovered; "" = still open
  std::string run_id;
  std::string exit_status;           // exit:N or signal:N; "" = unknown
  std::optional<int> exit_declared;  // the exit code declared when it began to exit
  std::string exception;             // uncaught, with its frames (schema: meta); "" = none
  std::string output;                // the last lines of its standard error; "" = not kept
  std::string imported_format;       // format of the imported file; "" = recorded by dprof
  std::string detail;                // light, standard, full; "" = unknown
  // The recording's software and hardware, by the key of `meta`: "torch_version", "cpu_model".
  // Known values only.
  std::vector<std::pair<std::string, std::string>> environment;
  int64_t shift_ns = 0;  // added to the trace's times, gives the run's time axis
};

// The process ended with an error: its own, or the launcher's because another failed.
[[nodiscard]] inline bool failed(const TraceFile& trace) {
  return !trace.exit_status.empty() && trace.exit_status != "exit:0";
}

// Invariant  traces are sorted by rank, one for each rank; all of them could be opened.
struct Run {
  std::vector<std::filesystem::path> paths;  // as given
  std::string name;                          // last part of the folder's path
  std::string command;
  std::optional<int> world_size;
  std::vector<TraceFile> traces;
  // Further traces of the run, used only for their clock probes: of launchers, of restarted
  // processes.
  std::vector<TraceFile> others;
  std::vector<Diagnostic> diagnostics;  // missing ranks, unreadable files, no run.json …
  bool damaged = false;                 // a file could not be read: exit code 3 despite a report
};

// Opens run folders or single trace files; several folders with one run id form one run. Fails only
// if no trace at all could be read.
Result<Run> open_run(const std::vector<std::filesystem::path>& paths);

}  // namespace dprof::analyzer
