// SPDX-License-Identifier: Apache-2.0
// The signals sent to a recording, read from a descriptor instead of handled.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>

#include <optional>
#include <string>

#include "collector/recorder/ranks/server.h"

namespace dprof::recorder {

// For the lifetime of this object, SIGCHLD and all signals to forward to a command (terminating
// ones, those agreed with its launcher, those of a terminal) are blocked and read from a
// descriptor. Signals ignored from the start (nohup) stay ignored. A fork child reads its own
// signals from it.
//
// Threading  create it while there is one thread: later ones inherit the blocked signals.
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
