// SPDX-License-Identifier: Apache-2.0
// One rank's account as it grows, in a file of its own beside the truth (FILE.rank-R), so that what
// a rank did is known even if it is killed.
//
// A line of JSON per event: "begin", "steps", "strike", "deed", "failed", "end".
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "trainer_harness/faults/truth.h"

namespace dprof::trainer_harness {

// Threading: strike() and deed() may be called from any thread, the rest from the training thread.
// Cost: a strike is one write(2), a step nothing but each hundredth.
class TruthLog {
 public:
  // Writes nothing at all if `truth_file` is empty. After an elastic restart it goes on with the
  // rank's file. Throws std::runtime_error.
  TruthLog(const std::filesystem::path& truth_file, JobTruth job, const RankTruth& rank,
           bool restarted);
  TruthLog(const TruthLog&) = delete;
  TruthLog& operator=(const TruthLog&) = delete;
  ~TruthLog();

  void strike(const Strike& strike);
  void deed(const Deed& deed);

  // Writes the steps done since, if there are many or the last time is long ago; flush_steps(): any
  // there are.
  void note_steps();
  void flush_steps();

  // The rank's last line: it came to its end, or failed. end() throws if any line could not be
  // written.
  void end();
  void fail(std::string_view why);

 private:
  void begin();
  void append(std::string line);

  JobTruth job_;
  const RankTruth& rank_;
  int file_ = -1;
  size_t steps_written_ = 0;
  int64_t written_ns_ = 0;
  std::mutex mutex_;  // guards what is below
  bool begun_ = false;
  bool broken_ = false;
};

// The file of a rank's own account.
[[nodiscard]] std::filesystem::path truth_part(const std::filesystem::path& truth_file, int rank);

// Removes what earlier runs left behind under this name. For rank 0, before the ranks meet.
void clear_truth(const std::filesystem::path& truth_file);

}  // namespace dprof::trainer_harness
