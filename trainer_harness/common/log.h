// SPDX-License-Identifier: Apache-2.0
// What the trainer says: rank 0 speaks, the others only in trouble, unless `--log-rank all`.
#pragma once

#include <string_view>

namespace dprof::trainer_harness {

class Log {
 public:
  Log(int rank, bool every_rank) : rank_(rank), speaks_(rank == 0 || every_rank) {}

  [[nodiscard]] bool speaks() const { return speaks_; }
  [[nodiscard]] int rank() const { return rank_; }

  // A line on stdout, "time - dprof-trainer - INFO - message", from the ranks that speak.
  void info(std::string_view message) const;

 private:
  int rank_;
  bool speaks_;
};

// On stderr, from any rank; a second line of `message` (a hint) stays as it is.
void log_error(std::string_view message);

}  // namespace dprof::trainer_harness
