// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/python_stacks.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "collector/inject/environment.h"
#include "collector/inject/python_gate.h"
#include "collector/inject/session.h"
#include "collector/wire/hello.h"

namespace dprof::inject {
namespace {

// A high number, out of the way of programs that expect low ones.
int open_stacks_file() noexcept {
  constexpr int kHighDescriptor = 1000;
  const char* variable = noted_variable(wire::kStacksVariable);
  const char* folder = variable != nullptr ? strchr(variable, ' ') : nullptr;
  if (folder == nullptr) return -1;
  char path[kMaxPath];
  wire::write_stacks_path(path, sizeof path, folder + 1, getpid(), runtime.first_event_ticks);
  const int file = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  const int high = file >= 0 ? fcntl(file, F_DUPFD_CLOEXEC, kHighDescriptor) : -1;
  if (high < 0) return file;
  close(file);
  return high;
}

}  // namespace

void let_the_recorder_look() noexcept {
  const char* variable = noted_variable(wire::kStacksVariable);
  if (variable != nullptr) prctl(PR_SET_PTRACER, strtoul(variable, nullptr, 10), 0, 0, 0);
}

bool stacks_are_wanted() noexcept { return noted_variable(wire::kStacksVariable) != nullptr; }

void register_faulthandler() noexcept {
  const int signal = wire::stacks_signal();
  struct sigaction before {};
  if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return;
  const int file = open_stacks_file();
  if (file < 0) return;
  constexpr int kAllThreads = 1, kChain = 0;
  PythonObject* module = python.import("faulthandler");
  PythonObject* done = module != nullptr ? python.call_method(module, "register", "iiii", signal,
                                                              file, kAllThreads, kChain)
                                         : nullptr;
  if (done == nullptr) {
    python.clear_error();
    close(file);
  } else {
    python.release(done);
  }
  if (module != nullptr) python.release(module);
}

}  // namespace dprof::inject
