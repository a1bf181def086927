// SPDX-License-Identifier: Apache-2.0
// The recording of one process: its mapping, its trace, and the thread that carries records from
// one to the other.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "collector/recorder/common/clock.h"
#include "collector/recorder/common/shared_memory.h"
#include "collector/recorder/control/capture_driver.h"
#include "collector/recorder/ranks/environment.h"
#include "collector/recorder/ranks/rank.h"
#include "collector/recorder/rows/drain.h"
#include "collector/recorder/rows/inbox.h"

namespace dprof::recorder {

class TorchVerdicts;

// Facts shared by every trace of a run.
struct RunFacts {
  std::string run_id;
  std::string recorder_id;
  std::string host;
  std::optional<int> ranks;  // started by -n
  std::string cuda;          // cupti, yield, off
  Replaced replaced;         // of other tools
  schema::TraceWriter::Journal journal = schema::TraceWriter::Journal::kWriteAhead;
  double record_cost_ns = 0;  // see measure_record_cost()
  bool watch_hangs = false;
  std::shared_ptr<TorchVerdicts> torch;  // null = an unknown LibTorch stays unknown
  CaptureSettings capture;               // except for later changes by `dprof ctl`
};

struct ProcessFacts {
  int pid = 0;      // in the recorder's namespace; 0 = not known
  int own_pid = 0;  // as the process sees itself
  uint64_t first_event_ticks = 0;
  RankInfo rank;
  std::string command;
};

// Writes the meta of every trace of a recording.
void write_recording_meta(TraceOutput& out, const RunClock& clock, const RunFacts& run);

enum class ProcessEnd { kEnded, kReplaced, kLeft };  // kLeft: it lives on, the recorder leaves

struct ProcessTotals {
  DrainTotals drain;
  int64_t unwritten = 0;  // rows lost because the trace could not be written
  std::string ended;
  RankInfo rank;
};

// Threading  the writer thread owns drain and output; the owner calls the public functions from one
//            other thread.
class ProcessRecording {
 public:
  // Opens the trace, or leaves that to the thread if it is impossible at present; starts the
  // thread, which calls `on_change` itself when in_gap() or done() changes.
  static Result<std::unique_ptr<ProcessRecording>> start(const RunClock& clock, const RunFacts& run,
                                                         const ProcessFacts& process,
                                                         SharedMemory memory,
                                                         const std::filesystem::path& path,
                                                         std::function<void()> on_change);
  ~ProcessRecording();

  // When the process began, in the trace's time: as reported by the process, if plausible.
  [[nodiscard]] static int64_t first_event_ns(const RunClock& clock, const ProcessFacts& process);

  // Adds the recorder's own measurement; written with the next commit.
  void add(Measured measured) { inbox_.put(std::move(measured)); }

  // Requests a commit even if the process is silent.
  void commit_soon();
  // The job hangs: asks the process to flush records that are not finished yet.
  void ask_for_unfinished();

  // From `dprof ctl`; carried out within a pass.
  void request(const CaptureRequest& request);
  [[nodiscard]] CaptureDriver::Status capture() const { return capture_.status(); }

  // The process's progress, as of the last commit; with RunFacts::watch_hangs.
  [[nodiscard]] HowFar how_far() const;

  // The process ended: drain the rest, then end the thread. Does not wait.
  void end(ProcessEnd how, std::optional<std::string> exit_status);
  [[nodiscard]] bool done() const { return done_.load(std::memory_order_acquire); }
  // The trace cannot be written at present (TraceOutput).
  [[nodiscard]] bool in_gap() const { return in_gap_.load(std::memory_order_relaxed); }
  // Rows that could not be written so far.
  [[nodiscard]] int64_t unwritten() const { return unwritten_.load(std::memory_order_relaxed); }

  // After done(): joins the thread and unmaps the process's memory.
  void close();
  // After close(): ends the trace's gap if there is room, and keeps its file closed meanwhile.
  void rest();
  // After close(): writes the end of the trace. `rank` overrides the process's variables. False:
  // the trace has a reader, so it must keep its name (TraceWriter::finish). An error: there is no
  // room at present; it can be called again.
  Result<bool> conclude(std::optional<int> rank);

  [[nodiscard]] const ProcessFacts& process() const { return process_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] int64_t events() const { return events_.load(std::memory_order_relaxed); }
  [[nodiscard]] int64_t lost() const { return lost_.load(std::memory_order_relaxed); }
  // After close(): how the process ended, if known.
  [[nodiscard]] const std::optional<std::string>& exit_status() const { return exit_status_; }
  // After close(): the last lines of its standard error.
  void keep_output(std::string_view lines);
  // After close(): the process raised an uncaught exception.
  [[nodiscard]] bool raised() const { return raised_; }
  // After done().
  [[nodiscard]] ProcessTotals totals() const;
  [[nodiscard]] const std::optional<Error>& failure() const { return output_->failure(); }
  // Data loss and errors among the trace's diagnostics: text by code.
  [[nodiscard]] const std::map<std::string, std::string>& troubles() const {
    return output_->troubles();
  }

 private:
  ProcessRecording(const RunClock& clock, const RunFacts& run, const ProcessFacts& process,
                   SharedMemory memory, std::filesystem::path path,
                   std::unique_ptr<TraceOutput> output);

  void run();
  void record_process();
  void write_loop();
  void sleep(std::chrono::nanoseconds at_most);
  void wake();
  void write_identity();
  void write_facts();
  void judge_torch();
  void write_rank();
  void write_remarks();
  void write_end();
  void publish_totals();

  const RunClock& clock_;
  RunFacts run_;
  ProcessFacts process_;
  std::optional<SharedMemory> memory_;  // until close()
  std::filesystem::path path_;
  std::unique_ptr<TraceOutput> output_;
  Drain drain_;
  std::function<void()> on_change_;
  std::string ended_;
  int64_t cpu_ns_ = 0;
  HookCost hooks_;
  bool torch_judged_ = false;
  bool raised_ = false;
  bool end_written_ = false;
  Inbox inbox_;
  CaptureDriver capture_;

  mutable std::mutex mutex_;  // how_, exit_status_, how_far_
  HowFar how_far_;
  ProcessEnd how_ = ProcessEnd::kEnded;
  std::optional<std::string> exit_status_;
  int declared_code_ = -1;  // the exit code announced by the process; -1 = none

  std::atomic<bool> ending_{false};
  std::atomic<bool> commit_asked_{false};
  std::atomic<bool> done_{false};
  std::atomic<bool> in_gap_{false};
  std::atomic<int64_t> events_{0}, lost_{0}, unwritten_{0};
  std::thread thread_;
};

// The cost of one record to the process that writes it, in nanoseconds: a tick reading and a push
// into a ring, measured here. The set-up of the surrounding hook (RecordFunction, NVTX) is not
// included, so `in_process_ns` is a lower bound of the cost of recording.
[[nodiscard]] double measure_record_cost(const RunClock& clock);

}  // namespace dprof::recorder
