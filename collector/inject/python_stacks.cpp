// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/python_stacks.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "collector/inject/environment.h"
#include "collector/inject/session.h"
#include "collector/wire/hello.h"

namespace dprof::inject {
namespace {

using PythonThing = void;  // PyObject

struct StacksApi {
  int (*is_initialized)();
  int (*add_pending_call)(int (*call)(void*), void* data);
  PythonThing* (*import)(const char* name);
  PythonThing* (*call_method)(PythonThing* object, const char* name, const char* format, ...);
  void (*clear_error)();
  void (*release)(PythonThing* object);
};

template <typename Function>
bool find_symbol(const char* name, Function& function) noexcept {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

// Written by the helper before it asks for the call that reads it.
constinit StacksApi stacks_api = {};

bool find_stacks_api() noexcept {
  return find_symbol("Py_IsInitialized", stacks_api.is_initialized) &&
         find_symbol("Py_AddPendingCall", stacks_api.add_pending_call) &&
         find_symbol("PyImport_ImportModule", stacks_api.import) &&
         find_symbol("PyObject_CallMethod", stacks_api.call_method) &&
         find_symbol("PyErr_Clear", stacks_api.clear_error) &&
         find_symbol("Py_DecRef", stacks_api.release);
}

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

// On Python's main thread, which holds the interpreter's lock.
int register_faulthandler(void*) noexcept {
  const int signal = wire::stacks_signal();
  struct sigaction before {};
  if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return 0;
  const int file = open_stacks_file();
  if (file < 0) return 0;
  constexpr int kAllThreads = 1, kChain = 0;
  PythonThing* module = stacks_api.import("faulthandler");
  PythonThing* done = module != nullptr ? stacks_api.call_method(module, "register", "iiii", signal,
                                                                 file, kAllThreads, kChain)
                                        : nullptr;
  if (done == nullptr) {
    stacks_api.clear_error();
    close(file);
  } else {
    stacks_api.release(done);
  }
  if (module != nullptr) stacks_api.release(module);
  return 0;
}

enum class StacksStage { kLooking, kFound, kDone };
constinit StacksStage stacks_stage = StacksStage::kLooking;

void apply_nothing(uint32_t, wire::DetailLevel) noexcept {}

uint64_t register_once(uint64_t) noexcept {
  if (stacks_stage == StacksStage::kLooking) {
    const bool wanted = noted_variable(wire::kStacksVariable) != nullptr;
    stacks_stage = wanted && find_stacks_api() ? StacksStage::kFound : StacksStage::kDone;
  }
  if (stacks_stage == StacksStage::kFound && stacks_api.is_initialized() != 0 &&
      stacks_api.add_pending_call(&register_faulthandler, nullptr) == 0) {
    stacks_stage = StacksStage::kDone;
  }
  return kNoHurry;
}

}  // namespace

void let_the_recorder_look() noexcept {
  const char* variable = noted_variable(wire::kStacksVariable);
  if (variable != nullptr) prctl(PR_SET_PTRACER, strtoul(variable, nullptr, 10), 0, 0, 0);
}

constinit const SourceHooks kPythonStackHooks = {&apply_nothing, &register_once, nullptr, nullptr,
                                                 nullptr};

}  // namespace dprof::inject
