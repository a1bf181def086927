// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/ranks/signals.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>

namespace dprof::recorder {

Signals::Signals() {
  constexpr int kHandedOn[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                               SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};
  sigemptyset(&set_);
  sigaddset(&set_, SIGCHLD);
  for (const int signal : kHandedOn) {
    struct sigaction inherited {};
    sigaction(signal, nullptr, &inherited);
    if (inherited.sa_handler != SIG_IGN) sigaddset(&set_, signal);
  }
  pthread_sigmask(SIG_BLOCK, &set_, &before_);
  fd_ = Descriptor(signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK));
  pipe_before_ = signal(SIGPIPE, SIG_IGN);  // a closed stdout must not end the recorder
  size_before_ = signal(SIGXFSZ, SIG_IGN);  // nor a limit of the file size: it is a full disk
}

Signals::~Signals() {
  signal(SIGPIPE, pipe_before_);
  signal(SIGXFSZ, size_before_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<signalfd_siginfo> Signals::next() const {
  signalfd_siginfo info{};
  if (read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return info;
}

std::string name_of_signal(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

}  // namespace dprof::recorder
