// SPDX-License-Identifier: Apache-2.0
// Child processes: started, waited for and ended together.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dprof::trainer_harness {

using Variables = std::vector<std::pair<std::string, std::string>>;

// How a process ended.
struct Ending {
  int code = 0;    // the exit code, or 128 + signal
  int signal = 0;  // 0: it exited

  // "ended with exit code 1", "was killed by signal 9".
  [[nodiscard]] std::string text() const;
};

// While it lives, SIGCHLD, SIGINT, SIGTERM and SIGHUP wait in line for wait_event(), and processes
// that are started here get their usual signals. Used by one thread, the only one of the process.
class ChildGroup {
 public:
  ChildGroup();
  ChildGroup(const ChildGroup&) = delete;
  ChildGroup& operator=(const ChildGroup&) = delete;
  ~ChildGroup();  // kills those that are left

  // Starts `arguments` with `more` added to this process's environment, and its output in the file
  // `output`; empty: where this process's goes. Dies with this process. Throws std::runtime_error.
  void start(const std::vector<std::string>& arguments, const Variables& more,
             const std::filesystem::path& output = {});

  struct Event {
    std::optional<size_t> child;  // by order of starting; none: this process was asked to end
    Ending ending;
    int signal = 0;  // what asked
  };
  // The next end of a child, or a request to end this process. `children_left` must be above 0.
  [[nodiscard]] Event wait_event();
  [[nodiscard]] size_t children_left() const;

  // Asks the others to end, and makes them after a few seconds.
  void end_all();

 private:
  [[nodiscard]] std::optional<Event> reap();
  [[nodiscard]] std::optional<Event> request();

  sigset_t requests_;  // to end this process
  sigset_t waited_;    // and SIGCHLD
  sigset_t before_;
  std::vector<pid_t> children_;  // 0: has ended
};

// The file of this program.
[[nodiscard]] std::string own_program();

// A TCP port that nobody listens at now on this host.
[[nodiscard]] int free_port();

}  // namespace dprof::trainer_harness
