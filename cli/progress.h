// SPDX-License-Identifier: Apache-2.0
// One line on stderr that shows the progress of a long command; only on a terminal, and only after
// a while.
#pragma once

#include <chrono>
#include <string_view>

#include "cli/console.h"

namespace dprof::cli {

// Threading  one thread.
class ProgressLine {
 public:
  explicit ProgressLine(Console& console) : console_(console) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // share: 0…1. Cheap enough to call every thousand rows.
  void show(std::string_view what, double share);
  void clear();
  // A line that stays, above the progress; nothing where all goes quickly or on no terminal.
  void keep(std::string_view line);

 private:
  using Clock = std::chrono::steady_clock;

  Console& console_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point next_ = begin_ + std::chrono::seconds(1);
  bool shown_ = false;
};

}  // namespace dprof::cli
