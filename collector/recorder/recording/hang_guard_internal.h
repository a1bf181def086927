// SPDX-License-Identifier: Apache-2.0
// The reaction to a hang (`dprof record --on-hang`).
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "collector/recorder/hang/job_watch.h"
#include "collector/recorder/hang/stack_taker.h"
#include "collector/recorder/recording/record.h"
#include "collector/recorder/recording/recording_internal.h"

namespace dprof::recorder {

struct HangOptions {
  OnHang mode = OnHang::kReport;
  std::optional<std::chrono::seconds> after;
  std::chrono::milliseconds grace{};   // between SIGTERM and SIGKILL to the ranks
  std::filesystem::path python_files;  // where the ranks' Pythons write stacks
};

// Threading  one thread, the recorder's.
class HangGuard {
 public:
  // `say`: prints to stderr, at once.
  HangGuard(const HangOptions& options, const RunClock& clock, Recording& recording,
            std::function<void(const std::string&)> say);

  // In each turn of the recorder's loop. Never waits.
  void look();
  // Call look() when it is readable; -1 = none.
  [[nodiscard]] int descriptor() const { return taker_ ? taker_->descriptor() : -1; }

 private:
  void on_hang(const std::vector<WatchedRank>& ranks);
  void report_hang(const std::vector<WatchedRank>& ranks);
  void start_taking(const std::vector<WatchedRank>& ranks);
  void receive_stacks();
  void report_stacks();
  void ask_to_end();
  void enforce(int64_t now_ns);
  [[nodiscard]] std::string signs_of(const WatchedRank& rank) const;

  HangOptions options_;
  const RunClock& clock_;
  Recording& recording_;
  std::function<void(const std::string&)> say_;
  JobWatch watch_;
  int64_t next_look_ns_ = 0;
  int64_t next_commit_ns_ = 0;
  int reported_ = 0;
  std::optional<StackTaker> taker_;
  std::vector<WatchedRank> subjects_;  // of the taker, suspects first
  std::optional<int64_t> kill_at_ns_;
};

}  // namespace dprof::recorder
