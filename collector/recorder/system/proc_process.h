// SPDX-License-Identifier: Apache-2.0
// One recorded process, seen from outside: CPU time and run-queue delay of its threads, resident
// memory, page faults, context switches, what its main thread waits for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "collector/recorder/common/clock.h"
#include "collector/recorder/ranks/server.h"
#include "collector/recorder/system/proc_files.h"
#include "collector/recorder/system/proc_text.h"

namespace dprof::recorder {

// Invariant  it keeps /proc/PID open, which never leads to another process that gets the number
//            later.
// Threading  one thread.
// Cost       sample(): some 50 us, and 5 to 10 us for each thread sampled; look(): 10 to
//            20 us, most while the main thread runs.
class ProcessSampler {
 public:
  // `pid` in the recorder's namespace; `pidfd` proves that it is still that process, -1 = none.
  ProcessSampler(const RunClock& clock, const SystemRoots& roots, int pid, int pidfd);

  // One round. Samples `most_threads` at most: those that ran lately first, the others in turns.
  void sample(FileText& file, size_t most_threads, const Deliver& deliver);

  // The main thread's current wait; nothing if the kernel does not report it, or before the first
  // round.
  void look(FileText& file, const Deliver& deliver) const;

 private:
  static constexpr int kRoundsToIdle = 3;
  // A replaced thread is found after so many rounds; a change of their number at once.
  static constexpr int kRoundsToList = 4;

  struct Thread {
    int64_t subject = 0;  // its number as the process sees it
    std::optional<ThreadTimes> last;
    int idle_rounds = 0;
  };

  bool sample_process(FileText& file, const Deliver& deliver);
  void list_threads(FileText& file);
  void sample_threads(FileText& file, size_t most, const Deliver& deliver);
  void sample_thread(FileText& file, int tid, Thread& thread, const Deliver& deliver);
  void deliver_changed(std::string_view kind, std::optional<int64_t> subject, int64_t value,
                       std::optional<int64_t>& last, const Deliver& deliver) const;

  const RunClock& clock_;
  int pid_;
  Descriptor folder_;    // of the process; invalid once it is gone
  bool nested_ = false;  // its pid namespace is another
  bool limit_reported_ = false;
  int64_t own_pid_ = 0;
  int64_t peak_bytes_ = 0;
  std::optional<int64_t> threads_seen_, kernel_cpu_, minor_faults_, major_faults_, switched_,
      preempted_;
  std::map<int, Thread> threads_;
  int rounds_to_list_ = 0;
  int turn_ = 0;            // thread after which the next round continues
  std::vector<int> order_;  // of this round; kept for its memory
};

}  // namespace dprof::recorder
