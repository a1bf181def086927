// SPDX-License-Identifier: Apache-2.0
// The output of several ranks on one terminal: whole lines, each with its rank in front.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collector/recorder/ranks/kept_output.h"

namespace dprof::recorder {

// Splits a stream of bytes into lines with a prefix. A line longer than kMaxLine is cut.
class LinePrefixer {
 public:
  static constexpr size_t kMaxLine = 65536;
  explicit LinePrefixer(std::string prefix) : prefix_(std::move(prefix)) {}

  // Adds bytes; returns the completed lines, prefixed.
  std::string add(std::string_view bytes);
  // The remainder without a line end, as a line.
  std::string rest();

 private:
  std::string prefix_;
  std::string begun_;
};

// Carries the output of each rank from its pipe to stdout or stderr, in its own process: a slow
// reader (a pager) delays only the ranks' output, and if the recorder is killed the ranks can go on
// writing. When stdout is closed, the ranks' output is read and discarded.
//
// Threading  one thread; start() and revive() fork.
class OutputLines {
 public:
  // `clear`: written to stderr before each output, to remove the progress line; can be empty.
  // `kept` also receives what goes to stderr.
  OutputLines(std::string clear, KeptOutput& kept) : clear_(std::move(clear)), kept_(kept) {}
  ~OutputLines();

  // A pipe whose read end is carried to `to_fd` (1 or 2); returns the write end for the child.
  Result<int> add(int rank, int to_fd);
  Status start();
  // True if a child that has ended is the carrier.
  [[nodiscard]] bool is_carrier(pid_t pid) const { return carrier_ > 0 && pid == carrier_; }
  // The carrier was killed: another one continues with the same pipes.
  void revive();
  // The writers have ended: has the remaining output carried, and waits for that. Does not wait for
  // pipes that a grandchild still holds open.
  void finish();

 private:
  struct Pipe {
    int fd;
    int rank;
    int to_fd;
    LinePrefixer lines;
  };
  [[noreturn]] void run();
  void close_all_but_pipes() const;
  bool carry(Pipe& pipe);
  void write_all(int fd, std::string_view text);

  std::string clear_;
  KeptOutput& kept_;
  std::vector<Pipe> pipes_;
  int ending_fd_ = -1;   // an eventfd: readable once finish() was called
  bool closed_[3] = {};  // by to_fd: it has no reader any more
  pid_t carrier_ = 0;
};

}  // namespace dprof::recorder
