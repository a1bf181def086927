// SPDX-License-Identifier: Apache-2.0
// Runs programs in tests, as a user would.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace dprof::test_support {

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A running program; its output goes to files in the scratch folder, which is its working folder.
class Running {
 public:
  // kOwn: a process group of its own, like a shell's job.
  enum class Group { kOurs, kOwn };
  Running(const TemporaryFolder& scratch, const std::vector<std::string>& arguments,
          Group group = Group::kOurs)
      : out_(scratch.path() / "stdout"), err_(scratch.path() / "stderr"), group_(group) {
    pid_ = fork();
    if (pid_ != 0) return;
    const int out = open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int err = open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    if (chdir(scratch.path().c_str()) != 0) _exit(98);
    if (group == Group::kOwn) setpgid(0, 0);
    std::vector<char*> pointers;
    for (const std::string& argument : arguments) {
      pointers.push_back(const_cast<char*>(argument.c_str()));
    }
    pointers.push_back(nullptr);
    execv(pointers[0], pointers.data());
    _exit(97);
  }
  ~Running() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      if (group_ == Group::kOwn) kill(-pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void send(int signal) const { kill(pid_, signal); }
  [[nodiscard]] pid_t pid() const { return pid_; }

  // The exit code, 128+N for signal N; -1 if it does not end in time.
  int wait(std::chrono::seconds at_most = std::chrono::seconds(30)) {
    const auto until = std::chrono::steady_clock::now() + at_most;
    while (std::chrono::steady_clock::now() < until) {
      int status = 0;
      if (waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = 0;
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return -1;
  }
  // Waits until stdout contains the text.
  [[nodiscard]] bool wait_for_output(const std::string& text) const {
    for (int i = 0; i < 10000; ++i) {
      if (out().find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }
  [[nodiscard]] std::string out() const { return text_of(out_); }
  [[nodiscard]] std::string err() const { return text_of(err_); }

 private:
  std::filesystem::path out_, err_;
  Group group_;
  pid_t pid_ = 0;
};

struct Ended {
  int code;
  std::string out, err;
};

inline Ended run(const TemporaryFolder& scratch, const std::vector<std::string>& arguments) {
  Running running(scratch, arguments);
  const int code = running.wait();
  return {code, running.out(), running.err()};
}

}  // namespace dprof::test_support
