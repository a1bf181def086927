// SPDX-License-Identifier: Apache-2.0
// `dprof record`: starts a command, records each of its processes that has events, and leaves a
// finished run.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collector/recorder/common/clock.h"
#include "collector/recorder/control/capture.h"
#include "collector/recorder/ranks/kept_output.h"
#include "collector/recorder/run/run_folder.h"

namespace dprof::recorder {

// Reaction to a hang: report it, also take stacks, also end the ranks.
enum class OnHang { kReport, kStacks, kKill };

struct RecordOptions {
  std::vector<std::string> command;
  std::optional<int> ranks;         // -n
  std::filesystem::path folder;     // empty = default_run_name()
  std::filesystem::path local;      // --local: where traces grow; empty = in `folder`
  std::filesystem::path library;    // libdprof.so; empty = preload nothing
  std::string detail = "standard";  // light, standard, full
  std::string cuda = "cupti";       // cupti, yield, off
  std::string python = "gc=on";     // or gc=off
  bool yield_nvtx = false;          // keep other tools' settings
  bool yield_nccl = false;
  Window window;                       // --steps A:B, --every N, --seconds A:B or --armed
  std::optional<int64_t> keep_s;       // --keep S: the flight recorder keeps the last S seconds
  std::optional<double> max_overhead;  // share of the step time, 0.01 = 1 %
  std::string meet;                    // HOST:PORT of another recorder of the run, or to listen on
  std::filesystem::path meet_key_file;
  std::optional<FakeClock> fake_clock;
  int kept_lines = KeptOutput::kLines;  // of each rank's standard error, with -n; 0 = none
  std::optional<OnHang> on_hang;        // --on-hang; empty = no watch for hangs
  std::optional<std::chrono::seconds> hang_after;  // --hang-after; empty = JobWatch's own limit
  bool overwrite = false;
  bool show_progress = false;             // a line on stderr, rewritten each second
  std::chrono::milliseconds grace{5000};  // see LaunchOptions
  std::chrono::seconds linger{60};        // for recorded processes that outlive the command
  // Prints messages that cannot wait for the end, a line each.
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

struct RecordOutcome {
  std::filesystem::path folder;
  std::string recorder;  // its name there: HOST-PID
  int command_code = 0;  // of the command, or of the first rank that failed
  int ranks = 0;
  int64_t traces = 0;
  int64_t events = 0;
  int64_t lost = 0;         // records, and rows that could not be written
  int64_t left_behind = 0;  // finished traces that could not be moved from the local disk
  int64_t bytes = 0;        // of the folder
  std::vector<std::filesystem::path> finished;  // this recorder's traces, in the folder
  // True if a signal to end the recorder has arrived since then.
  std::function<bool()> is_interrupted = [] { return false; };
  std::vector<RunDiagnostic> diagnostics;
  // Data loss and errors recorded in the traces, once for each code: not part of run.json.
  std::vector<RunDiagnostic> troubles_of_traces;
};

// The command runs in any case, except for invalid options (kUsage): if recording cannot begin, it
// runs unrecorded, and `diagnostics` says so.
//
// Blocks until the command and every recorded process have ended, or until a second SIGINT; for
// processes that outlive the command it waits `linger`.
// Fails if the command could not be started; later problems are in `diagnostics` and `lost`.
//
// The recorder is a separate process, in which `account` turns the outcome into an exit code: both
// processes return (supervise()).
//
// Threading  call it from the main thread before other threads exist: it blocks signals.
Result<int> record(const RecordOptions& options,
                   const std::function<int(const RecordOutcome&)>& account);

}  // namespace dprof::recorder
