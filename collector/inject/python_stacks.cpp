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

struct StacksApi {
  PythonObject* (*import)(const char* name);
  PythonObject* (*call_method)(PythonObject* object, const char* name, const char* format, ...);
  void (*clear_error)();
  void (*release)(PythonObject* object);
};

// Written by the helper before it asks for the call that reads it.
constinit StacksApi stacks_api = {};

// A high number, out of the way of programs that count on small ones.
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

bool find_stacks_api() noexcept {
  return noted_variable(wire::kStacksVariable) != nullptr &&
         find_in_python("PyImport_ImportModule", stacks_api.import) &&
         find_in_python("PyObject_CallMethod", stacks_api.call_method) &&
         find_in_python("PyErr_Clear", stacks_api.clear_error) &&
         find_in_python("Py_DecRef", stacks_api.release);
}

void register_faulthandler() noexcept {
  const int signal = wire::stacks_signal();
  struct sigaction before {};
  if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return;
  const int file = open_stacks_file();
  if (file < 0) return;
  constexpr int kAllThreads = 1, kChain = 0;
  PythonObject* module = stacks_api.import("faulthandler");
  PythonObject* done = module != nullptr ? stacks_api.call_method(module, "register", "iiii",
                                                                  signal, file, kAllThreads, kChain)
                                         : nullptr;
  if (done == nullptr) {
    stacks_api.clear_error();
    close(file);
  } else {
    stacks_api.release(done);
  }
  if (module != nullptr) stacks_api.release(module);
}

}  // namespace dprof::inject
