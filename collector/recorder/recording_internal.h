// SPDX-License-Identifier: Apache-2.0
// The processes that are being recorded: from hello to finished trace.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collector/recorder/launcher.h"
#include "collector/recorder/run_folder.h"
#include "collector/recorder/server.h"
#include "collector/recorder/session.h"
#include "collector/recorder/system_sampler.h"

namespace dprof::recorder {

// Threading  one thread, apart from the sessions' own.
class Recording {
 public:
  // `wake` is called from a session's thread when it has drained everything.
  Recording(const RunClock& clock, RunFacts facts, RunFolder& folder, std::function<void()> wake);

  // A process said hello.
  void welcome(Guest guest);
  // Looks which processes have ended; `status_of` knows how children of ours did.
  void watch(const std::function<std::optional<ExitStatus>(int pid)>& status_of);
  // Finishes the traces of those that are drained and have a rank.
  void conclude_done();
  // The recorder leaves: all sessions end now, whether their process has or not.
  void leave();
  void sample_clock();
  // The processes that are being recorded, for the sampler.
  [[nodiscard]] std::vector<Sampled> sampled();

  // Waits for all sessions, finishes what is left, names it and drops what is empty.
  void finish();

  // Descriptors whose readiness may mean that a process ended.
  [[nodiscard]] std::vector<int> descriptors() const;
  [[nodiscard]] bool busy() const { return !live_.empty(); }

  struct Totals {
    int64_t processes = 0;
    int64_t events = 0;
    int64_t lost = 0;
  };
  [[nodiscard]] Totals totals() const;
  [[nodiscard]] const std::vector<TraceEntry>& traces() const { return traces_; }
  [[nodiscard]] std::vector<RunDiagnostic>& diagnostics() { return diagnostics_; }
  [[nodiscard]] std::optional<int> world_size() const { return world_size_; }
  // What the ranks say that should be here: local ranks that were never seen.
  [[nodiscard]] std::vector<int> missing_local_ranks(std::optional<int> expected) const;

 private:
  struct Live {
    std::unique_ptr<Session> session;
    Descriptor socket;
    Descriptor process;
    bool hung_up = false;
    int parent_pid = 0;  // of the process of the same rank that started it, 0 = none
  };

  [[nodiscard]] std::optional<int> rank_of(const Live& ended) const;
  void conclude(Session& session, std::optional<int> rank);
  void drop(const Session& session);
  void refuse(const Guest& guest, const std::string& code, const std::string& text);
  [[nodiscard]] int parent_of_same_rank(const Guest& guest, const RankInfo& rank) const;
  [[nodiscard]] bool has_trace(int rank) const;
  [[nodiscard]] std::string trace_name(const Guest& guest) const;

  const RunClock& clock_;
  RunFacts facts_;
  RunFolder& folder_;
  std::function<void()> wake_;
  std::vector<Live> live_;
  std::vector<Live> held_;                // drained; what becomes of them depends on the others
  std::map<int, int64_t> events_of_pid_;  // of sessions that have ended
  std::vector<TraceEntry> traces_;
  std::vector<RunDiagnostic> diagnostics_;
  std::vector<int> local_ranks_seen_;
  std::optional<int> world_size_, local_world_size_;
  Totals ended_;  // of sessions that are concluded
};

}  // namespace dprof::recorder
