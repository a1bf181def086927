// SPDX-License-Identifier: Apache-2.0
// The signals that come to a recording, read instead of suffered.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>

#include <optional>
#include <string>

#include "collector/recorder/ranks/server.h"

namespace dprof::recorder {

// SIGCHLD and what is handed on to a command (what ends it, what it may have agreed on with its
// launcher, what a terminal says) are blocked and read from a descriptor for as long as this lives.
// What was ignored from the start (nohup) stays so. A fork child reads its own signals from it.
//
// Threading  make it while there is one thread: later ones inherit what is blocked.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] std::optional<signalfd_siginfo> next() const;

 private:
  sigset_t set_{}, before_{};
  Descriptor fd_;
  void (*pipe_before_)(int) = nullptr;
  void (*size_before_)(int) = nullptr;
};

// "SIGTERM".
[[nodiscard]] std::string name_of_signal(int signal);

}  // namespace dprof::recorder
