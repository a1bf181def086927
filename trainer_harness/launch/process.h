// SPDX-License-Identifier: Apache-2.0
// Child processes that are started, waited for and ended together.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dprof::trainer_harness {

using Variables = std::vector<std::pair<std::string, std::string>>;

// The end of a process.
struct Ending {
  int code = 0;    // the exit code, or 128 + signal
  int signal = 0;  // 0: it exited

  // "ended with exit code 1", "was killed by signal 9".
  [[nodiscard]] std::string text() const;
};

// While it lives, SIGCHLD, SIGINT, SIGTERM and SIGHUP stay blocked and pending for wait_event();
// processes started here get the original signal mask. Used by the process's only thread.
class ChildGroup {
 public:
  ChildGroup();
  ChildGroup(const ChildGroup&) = delete;
  ChildGroup& operator=(const ChildGroup&) = delete;
  ~ChildGroup();  // kills the remaining children

  // Starts `arguments` with `more` added to the environment. Output goes to the file `output`; if
  // empty, where this process's goes. The child dies with this process. Throws std::runtime_error.
  void start(const std::vector<std::string>& arguments, const Variables& more,
             const std::filesystem::path& output = {});
  // The same for a function, called in the forked child; its result is the exit code. What this
  // process has loaded is not loaded again. Only where can_fork().
  void start(const std::function<int()>& program, const Variables& more);

  struct Event {
    std::optional<size_t> child;  // in start order; none: this process was asked to end
    Ending ending;
    int signal = 0;  // that asked this process to end
  };
  // The next end of a child, or a request to end this process. children_left() must be above 0.
  [[nodiscard]] Event wait_event();
  [[nodiscard]] size_t children_left() const;

  // Asks the remaining children to end, and kills them after a few seconds.
  void end_all();

 private:
  void fork_child(const std::function<int()>& program, const Variables& more,
                  const std::filesystem::path& output);
  [[nodiscard]] std::optional<Event> reap();
  [[nodiscard]] std::optional<Event> request();

  sigset_t requests_;  // the signals that ask this process to end
  sigset_t waited_;    // these and SIGCHLD
  sigset_t before_;
  std::vector<pid_t> children_;  // 0: has ended
};

// Whether a fork of this process is as good as a new one: nothing that would have to begin in the
// child by itself is loaded (LD_PRELOAD, injection into CUDA or NVTX, a GPU's driver, threads),
// and OpenMP, which reads its variables when it is loaded, has read the children's.
[[nodiscard]] bool can_fork();

// The path of this program.
[[nodiscard]] std::string own_program();

// A TCP port on this host that is free at this moment.
[[nodiscard]] int free_port();

}  // namespace dprof::trainer_harness
