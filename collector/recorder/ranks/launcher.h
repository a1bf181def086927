// SPDX-License-Identifier: Apache-2.0
// Starts the command, once or once for each rank, and watches how it ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "collector/recorder/ranks/environment.h"
#include "collector/recorder/ranks/output_lines.h"

namespace dprof::recorder {

// The end of a process, from waitpid().
struct ExitStatus {
  int wait_status = 0;
  [[nodiscard]] int code() const;          // 128+N for signal N, as shells do
  [[nodiscard]] std::string text() const;  // "exit:N" or "signal:N"
};

// The end of a rank's process.
struct RankEnd {
  int rank = 0;
  pid_t pid = 0;
  ExitStatus status;
  std::chrono::steady_clock::time_point when;  // as it was noticed
};

struct LaunchOptions {
  std::vector<std::string> command;
  std::optional<int> ranks;  // -n
  // Between SIGTERM and SIGKILL to the other ranks.
  std::chrono::milliseconds grace{5000};
};

// With `ranks`, the first failing rank decides: the others get SIGTERM, after the grace SIGKILL,
// and its code is the command's. Without, the one child keeps this process's own output and input.
// No child dies with the recorder: the end of the recorder must not end training.
//
// Threading  one thread, with SIGCHLD and the forwarded signals blocked (not in the children).
class Launcher {
 public:
  using Clock = std::chrono::steady_clock;

  Launcher(LaunchOptions options, OutputLines& output)
      : options_(std::move(options)), output_(output) {}

  // kNotFound: there is no such command; kUnsupported: it cannot be executed.
  Status start(const Environment& environment);

  // Collects ended children, including adopted orphans. Call after each SIGCHLD.
  void reap();
  // Ends processes whose time is up; call at deadline().
  void enforce(Clock::time_point now);
  [[nodiscard]] std::optional<Clock::time_point> deadline() const { return kill_at_; }

  // Forwards a signal to every living child.
  void forward(int signal) const;

  [[nodiscard]] bool running() const { return !running_.empty(); }
  // The command's processes that have not ended.
  [[nodiscard]] std::vector<pid_t> pids() const;
  [[nodiscard]] std::optional<ExitStatus> status(pid_t pid) const;
  // The ranks that ended since the last call.
  [[nodiscard]] std::vector<RankEnd> take_rank_ends() { return std::exchange(rank_ends_, {}); }
  // The restarts of the carrier of the ranks' output.
  [[nodiscard]] int revivals() const { return revivals_; }
  // Of the command: 0, or the code of the first rank that failed.
  [[nodiscard]] int exit_code() const { return exit_code_; }

 private:
  Result<pid_t> spawn(const Environment& environment, int rank, int out_fd, int error_fd);
  void on_exit(pid_t pid, ExitStatus status);

  LaunchOptions options_;
  OutputLines& output_;
  std::map<pid_t, int> running_;  // → rank
  std::map<pid_t, ExitStatus> ended_;
  std::vector<RankEnd> rank_ends_;
  std::optional<Clock::time_point> kill_at_;
  bool ending_ = false;  // a rank failed, or a signal came: later failures are consequences
  int exit_code_ = 0;
  int revivals_ = 0;
};

// A TCP port of 127.0.0.1 that is free now.
Result<int> free_port();

}  // namespace dprof::recorder
