// SPDX-License-Identifier: Apache-2.0
// Takes the stacks of all threads of some processes, in a separate process: a failure there costs
// only the stacks.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "collector/recorder/ranks/server.h"
#include "collector/recorder/rows/inbox.h"

namespace dprof::recorder {

struct StackSubject {
  int pid = 0;
  std::filesystem::path python_file;  // where its Python writes its stacks
};

// Ptrace stops one thread at a time. The taker is killed at its time limit; the kernel then
// releases the stopped thread, and stacks received until then count.
//
// Threading  one thread.
class StackTaker {
 public:
  static constexpr std::chrono::seconds kLimit{5};

  // Takes them in the given order.
  StackTaker(std::vector<StackSubject> subjects, int64_t now_ns);
  ~StackTaker();
  StackTaker(const StackTaker&) = delete;
  StackTaker& operator=(const StackTaker&) = delete;

  // Readable when there is output; -1 = finished.
  [[nodiscard]] int descriptor() const { return child_ > 0 ? output_.get() : -1; }
  // Reads the available output, and never waits. True when finished.
  bool receive();

  // A process's frames received so far; and why some are missing.
  [[nodiscard]] const std::vector<TakenFrame>& frames(int pid) { return taken_[pid].frames; }
  [[nodiscard]] const std::string& problem(int pid) { return taken_[pid].problem; }

 private:
  using Steady = std::chrono::steady_clock;
  struct Taken {
    std::vector<TakenFrame> frames;
    std::string problem;
    bool complete = false;
  };

  void hear(std::string_view line);
  void finish();

  std::vector<StackSubject> subjects_;
  int64_t now_ns_;
  Steady::time_point until_ = Steady::now() + kLimit;
  pid_t child_ = 0;  // 0: it has ended
  Descriptor output_;
  std::string unread_;
  std::map<int, Taken> taken_;  // by process
};

}  // namespace dprof::recorder
