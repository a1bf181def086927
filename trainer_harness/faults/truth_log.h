// SPDX-License-Identifier: Apache-2.0
// One rank's account, written as it grows to its own file beside the truth (FILE.rank-R), so that
// it survives if the rank is killed.
//
// One line of JSON per event: "begin", "steps", "strike", "deed", "failed", "end".
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
// Cost: one write(2) per strike, and one per 100 steps or per second, whichever comes first.
class TruthLog {
 public:
  // Writes nothing if `truth_file` is empty. After an elastic restart it appends to the rank's
  // file. Throws std::runtime_error.
  TruthLog(const std::filesystem::path& truth_file, JobTruth job, const RankTruth& rank,
           bool restarted);
  TruthLog(const TruthLog&) = delete;
  TruthLog& operator=(const TruthLog&) = delete;
  ~TruthLog();

  void strike(const Strike& strike);
  void deed(const Deed& deed);

  // Writes the steps since the last write if they are many or that write is long ago; flush_steps()
  // writes them in any case.
  void note_steps();
  void flush_steps();

  // The rank's last line: it finished, or it failed. end() throws if any line could not be written.
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
  std::mutex mutex_;  // guards the members below
  bool begun_ = false;
  bool broken_ = false;
};

// The file of a rank's own account.
[[nodiscard]] std::filesystem::path truth_part(const std::filesystem::path& truth_file, int rank);

// Removes the files of earlier runs with this name. For rank 0, before the ranks connect.
void clear_truth(const std::filesystem::path& truth_file);

}  // namespace dprof::trainer_harness
