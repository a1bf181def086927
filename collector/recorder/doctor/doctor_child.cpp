// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/doctor/doctor_child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "collector/recorder/ranks/server.h"

namespace dprof::recorder {
namespace {

using Steady = std::chrono::steady_clock;

constexpr size_t kMostOutput = 1 << 20;

struct Child {
  pid_t pid = 0;
  Descriptor output;
};

// Forks; the child runs `act` with its stdout on a pipe, in a process group of its own.
Result<Child> start_child(const std::function<int()>& act) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return fail(Code::kIo, fmt::format("pipe: {}", std::strerror(errno)));
  }
  Child child{0, Descriptor(ends[0])};
  const Descriptor write_end(ends[1]);
  child.pid = fork();
  if (child.pid < 0) return fail(Code::kIo, fmt::format("fork: {}", std::strerror(errno)));
  if (child.pid > 0) return child;
  setpgid(0, 0);
  dup2(write_end.get(), STDOUT_FILENO);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDERR_FILENO);
  _exit(act());
}

// All output of the child, and its exit code. Does not wait for descendants that still hold the
// pipe.
Result<CommandAnswer> answer_of(const Child& child, std::chrono::seconds patience) {
  CommandAnswer answer;
  const Steady::time_point until = Steady::now() + patience;
  bool late = false;
  int status = 0;
  for (bool ended = false; !ended && !late;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Steady::now());
    pollfd polled{child.output.get(), POLLIN, 0};
    if (poll(&polled, 1, 20) > 0) {
      char text[4096];
      const ssize_t got = read(child.output.get(), text, sizeof text);
      if (got > 0 && answer.output.size() < kMostOutput) {
        answer.output.append(text, static_cast<size_t>(got));
      }
      if (got > 0) continue;
      usleep(1000);  // it closed its stdout: only its end is left
    }
    ended = waitpid(child.pid, &status, WNOHANG) == child.pid;
    late = !ended && left.count() <= 0;
  }
  if (late) {
    kill(-child.pid, SIGKILL);
    kill(child.pid, SIGKILL);
    waitpid(child.pid, &status, 0);
    return fail(Code::kUnsupported, fmt::format("no answer within {} s", patience.count()));
  }
  answer.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return answer;
}

}  // namespace

Result<std::string> ask_child(const std::function<std::string()>& ask,
                              std::chrono::seconds patience) {
  const Result<Child> child = start_child([&] {
    const std::string answer = ask();
    size_t done = 0;
    while (done < answer.size()) {
      const ssize_t wrote = write(STDOUT_FILENO, answer.data() + done, answer.size() - done);
      if (wrote <= 0) return 1;
      done += static_cast<size_t>(wrote);
    }
    return 0;
  });
  if (!child.ok()) return fail(child.error());
  const Result<CommandAnswer> answer = answer_of(*child, patience);
  if (!answer.ok()) return fail(answer.error());
  if (answer->code == 0) return answer->output;
  return fail(Code::kUnsupported,
              answer->code > 128 ? fmt::format("it crashed ({})", strsignal(answer->code - 128))
                                 : fmt::format("it ended the process with {}", answer->code));
}

Result<CommandAnswer> ask_command(const std::vector<std::string>& command,
                                  std::chrono::seconds patience) {
  const Result<Child> child = start_child([&] {
    std::vector<char*> pointers;
    for (const std::string& word : command) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    execvp(pointers[0], pointers.data());
    return 127;
  });
  if (!child.ok()) return fail(child.error());
  return answer_of(*child, patience);
}

}  // namespace dprof::recorder
