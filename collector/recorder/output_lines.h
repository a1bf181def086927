// SPDX-License-Identifier: Apache-2.0
// The output of several ranks on one terminal: whole lines, each with its rank in front.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"

namespace dprof::recorder {

// Cuts a stream of bytes into lines with a prefix. A line longer than kMaxLine is cut.
class LinePrefixer {
 public:
  static constexpr size_t kMaxLine = 65536;
  explicit LinePrefixer(std::string prefix) : prefix_(std::move(prefix)) {}

  // Adds bytes; returns the lines that are whole now, prefixed.
  std::string add(std::string_view bytes);
  // What is left without a line end, as a line.
  std::string rest();

 private:
  std::string prefix_;
  std::string begun_;
};

// Carries the output of each rank from its pipe to stdout or stderr, in a thread of its own, so that
// a reader that is slow (a pager) holds up the ranks' output and nothing else. When stdout is closed
// the ranks' output is read and thrown away.
//
// Threading  add() before start(); the rest from one thread.
class OutputLines {
 public:
  // `before` and `after` are called around each write, with a lock held (see locked()).
  OutputLines(std::function<void()> before, std::function<void()> after);
  ~OutputLines();

  // A pipe whose read end is carried to `to_fd` (1 or 2); returns the write end for the child.
  Result<int> add(std::string prefix, int to_fd);
  Status start();
  // The writers have ended: carries what is left in the pipes, then ends the thread. Pipes that a
  // grandchild still holds open are not waited for.
  void finish();

  // Runs `write` while no line is being written.
  void locked(const std::function<void()>& write);

 private:
  struct Pipe {
    int fd;
    int to_fd;
    LinePrefixer lines;
  };
  void run();
  bool carry(Pipe& pipe);
  void write_all(int fd, std::string_view text);

  std::function<void()> before_, after_;
  std::mutex mutex_;
  std::vector<Pipe> pipes_;
  int wake_fd_ = -1;
  std::atomic<bool> ending_{false};
  bool closed_[3] = {};  // by to_fd: nobody reads it any more
  std::thread thread_;
};

}  // namespace dprof::recorder
