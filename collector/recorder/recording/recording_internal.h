// SPDX-License-Identifier: Apache-2.0
// The recorded processes: from hello to finished trace.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collector/recorder/control/control_answer.h"
#include "collector/recorder/hang/job_watch.h"
#include "collector/recorder/ranks/server.h"
#include "collector/recorder/ranks/supervisor.h"
#include "collector/recorder/recording/process_recording.h"
#include "collector/recorder/run/run_folder.h"
#include "collector/recorder/system/system_sampler.h"

namespace dprof::recorder {

// The launcher's knowledge of the ranks of -n when all have ended.
struct StartedRanks {
  std::vector<RankEnd> ends;
  std::function<std::string(int rank)> last_output = [](int) { return std::string(); };
};

// Threading  one thread, apart from the processes' writers.
class Recording {
 public:
  // `wake` is called from a writer's thread when a recording needs attention.
  Recording(const RunClock& clock, RunFacts facts, RunFolder& folder, std::function<void()> wake);

  // A process said hello.
  void welcome(Guest guest);
  // Detects ended processes, and asks `ending_of` how they ended (Command::ending_of).
  void watch(const std::function<std::optional<Command::Ending>(int pid)>& ending_of);
  // Finishes the traces of those that are drained and have a rank, and, once a second, of those
  // whose end did not fit on the disk.
  void conclude_done();
  // The recorder leaves: all recordings end now, even those of living processes.
  void leave();
  void sample_clock();
  // True if a process has just ended, and watch() does not know yet.
  [[nodiscard]] bool somebody_goes() const;
  // Probes of other hosts' clocks.
  void add_probes(std::vector<schema::ClockProbeRow> rows);
  // `dprof ctl`: for all present and future recordings.
  void request(const CaptureRequest& request);
  [[nodiscard]] const CaptureSettings& capture() const { return facts_.capture; }
  [[nodiscard]] std::vector<ProcessStatus> process_status() const;
  // The running ranks, by rank; without the processes that they started.
  [[nodiscard]] std::vector<WatchedRank> watched() const;
  // A remark for the traces of all running processes.
  void note_in_traces(std::string_view code, const std::string& text);
  // Measurements for a process's trace, to be written at once.
  void add(int pid, std::vector<Measured> measured);
  // Writes measurements even if the processes are silent.
  void commit_soon();
  void ask_for_unfinished();
  // To a running rank (watched()).
  void send_signal(int pid, int signal) const;
  // The processes that are being recorded, for the sampler.
  [[nodiscard]] std::vector<Sampled> sampled();

  // Waits for all writers, finishes the remaining traces, names them and drops empty ones. Ranks of
  // -n that failed without a hello get a trace that records their end.
  void finish(const StartedRanks& started = {});
  // Traces whose end could not be written so far; and the last resort: leave them unfinished, each
  // one named.
  [[nodiscard]] size_t unfinished() const { return count(State::kUnfinished); }
  void give_up_unfinished();

  // Descriptors whose readiness can mean that a process ended.
  [[nodiscard]] std::vector<int> descriptors() const;
  [[nodiscard]] bool busy() const;
  // Recorded processes that have not ended.
  [[nodiscard]] std::vector<int> live_pids() const;

  // Traces that cannot be written at present, and rows not written so far.
  struct WriteGaps {
    int64_t traces = 0;
    int64_t unwritten = 0;
  };
  [[nodiscard]] WriteGaps write_gaps() const;

  struct Totals {
    int64_t processes = 0;
    int64_t events = 0;
    int64_t lost = 0;
  };
  [[nodiscard]] Totals totals() const;
  // By rank.
  [[nodiscard]] std::vector<TraceEntry> traces() const;
  [[nodiscard]] std::vector<RunDiagnostic>& diagnostics() { return diagnostics_; }
  // Data loss and errors recorded only in the traces, once for each code.
  [[nodiscard]] std::vector<RunDiagnostic> troubles_of_traces() const;
  // The most frequent report of the processes.
  [[nodiscard]] std::optional<int> world_size() const { return most_said(world_sizes_); }
  [[nodiscard]] bool has_ranks_elsewhere() const {
    const std::optional<int> here = most_said(local_world_sizes_);
    return here && most_said(world_sizes_).value_or(0) > *here;
  }
  // Local ranks that should exist according to the other ranks, but were never seen.
  [[nodiscard]] std::vector<int> missing_local_ranks(std::optional<int> expected) const;

 private:
  // A process from its hello on. It is live until the thread of its recording is done:
  //
  //   live       kRunning ──▶ kGone ──▶ kEnding     from each of them: kHeld, or concluded
  //   held       kHeld     at the end of all: dropped, concluded, kNameless or kSilent
  //   concluded  kOver     or, until there is room, kUnfinished
  enum class State {
    kRunning,     // live
    kGone,        // live; how the process ended is not known yet
    kEnding,      // live; the recording knows how
    kHeld,        // the fate of the trace depends on the other processes
    kNameless,    // at the end of all: it recorded something, but has no rank
    kSilent,      // it only failed, without events: a lone program, or a launcher of ranks
    kUnfinished,  // the trace has no end for lack of room
    kOver,        // the trace is finished, given up or dropped: no recording any more
  };
  struct Process {
    std::unique_ptr<ProcessRecording> recording;
    Descriptor socket;
    Descriptor pidfd;
    int parent_pid = 0;  // of the process of the same rank that started it, 0 = none
    State state = State::kRunning;
    bool hung_up = false;
    std::optional<int> rank;  // of the trace, once it is unfinished

    [[nodiscard]] bool is_live() const { return state <= State::kEnding; }
    [[nodiscard]] bool is_running() const { return state == State::kRunning; }
  };

  [[nodiscard]] size_t count(State state) const;
  static void end(Process& process);
  void forget_what_is_over();
  [[nodiscard]] std::optional<int> rank_of(const Process& ended) const;
  [[nodiscard]] bool has_more_to_say(const Process& ended) const;
  void keep_output(Process& ended, const StartedRanks& started) const;
  void write_end_of(const RankEnd& end, const std::string& output);
  // A live one whose thread is done.
  void conclude_or_hold(Process& process);
  // A held one, at the end of all.
  void judge_held(Process& process);
  void conclude(Process& process, std::optional<int> rank);
  // False: there is no room.
  bool try_to_finish(ProcessRecording& recording, std::optional<int> rank);
  void finish_unfinished();
  void give_up(Process& unfinished);
  void drop(Process& process);
  void add_to_totals(const ProcessTotals& totals);
  // A process is named together with its action only a limited number of times: it can say hello
  // repeatedly.
  void remark(const std::string& code, const std::string& text);
  void refuse(const Guest& guest, const std::string& code, const std::string& text);
  void hear_claims(const Guest& guest, const RankInfo& rank);
  [[nodiscard]] int parent_of_same_rank(const Guest& guest, const RankInfo& rank) const;
  [[nodiscard]] bool has_trace(int rank) const;
  [[nodiscard]] std::filesystem::path trace_path(const Guest& guest) const;
  using Votes = std::map<int, int>;  // by reported value
  [[nodiscard]] static std::optional<int> most_said(const Votes& votes);

  const RunClock& clock_;
  RunFacts facts_;
  RunFolder& folder_;
  std::function<void()> wake_;
  std::vector<Process> processes_;
  std::chrono::steady_clock::time_point next_try_{};  // of those that are unfinished
  std::map<int, int64_t> events_of_pid_;              // of processes that have ended
  std::vector<schema::ClockProbeRow> probes_;         // without a trace so far
  std::vector<TraceEntry> traces_;
  std::vector<RunDiagnostic> diagnostics_;
  std::map<std::string, int64_t> remarks_;  // by code
  struct Trouble {
    std::string text;  // of the first trace
    int64_t traces = 0;
  };
  std::map<std::string, Trouble> troubles_;  // by code
  std::vector<int> local_ranks_seen_;
  Votes world_sizes_, local_world_sizes_;
  Totals ended_;  // of processes that are concluded
  int64_t ended_unwritten_ = 0;
};

}  // namespace dprof::recorder
