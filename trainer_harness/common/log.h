// SPDX-License-Identifier: Apache-2.0
// The trainer's log: rank 0 writes it, the others only errors, unless `--log-rank all` is given.
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

// Prints to stderr, on any rank. A second line of `message` (a hint) gets no prefix.
void log_error(std::string_view message);

}  // namespace dprof::trainer_harness
