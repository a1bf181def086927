// SPDX-License-Identifier: Apache-2.0
// What the library has Python do for it, once: note uncaught exceptions (python_errors.h) and
// collections of garbage (python_gc.h) and, with --on-hang, register faulthandler
// (python_stacks.h).
//
// The interpreter's own C API, of its stable ABI (PEP 384), looked up by name: no Python is linked.
// Python carries it out itself, on its main thread between two instructions (Py_AddPendingCall).
#pragma once

#include <dlfcn.h>

#include "collector/inject/source.h"

namespace dprof::inject {

using PythonObject = void;  // PyObject

struct PythonMethod {  // PyMethodDef
  const char* name;
  PythonObject* (*call)(PythonObject* self, PythonObject* arguments);
  int flags;
  const char* docs;
};
inline constexpr int kPositionalArguments = 1;  // METH_VARARGS

template <typename Symbol>
[[nodiscard]] bool find_in_python(const char* name, Symbol& symbol) noexcept {
  symbol = reinterpret_cast<Symbol>(dlsym(RTLD_DEFAULT, name));
  return symbol != nullptr;
}

extern constinit const SourceHooks kPythonHooks;

}  // namespace dprof::inject
