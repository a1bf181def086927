// SPDX-License-Identifier: Apache-2.0
// The library's one-time requests to Python: note uncaught exceptions (python_errors.h) and garbage
// collections (python_gc.h) and, with --on-hang, register faulthandler (python_stacks.h).
//
// Uses the interpreter's stable C API (PEP 384), looked up by name: no Python is linked. Python
// runs the requests itself, on its main thread between two instructions (Py_AddPendingCall).
#pragma once

#include <dlfcn.h>
#include <sys/types.h>

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

struct PythonApi {
  PythonObject* (*import)(const char* name);
  PythonObject* (*system_get)(const char* name);  // borrowed
  int (*system_set)(const char* name, PythonObject* value);
  PythonObject* (*function)(PythonMethod* method, PythonObject* self, PythonObject* module);
  PythonObject* (*call)(PythonObject* callable, PythonObject* arguments);
  PythonObject* (*call_method)(PythonObject* object, const char* name, const char* format, ...);
  PythonObject* (*get)(PythonObject* object, const char* name);
  int (*set)(PythonObject* object, const char* name, PythonObject* value);
  int (*append)(PythonObject* list, PythonObject* item);
  PythonObject* (*item_of_map)(PythonObject* map, const char* key);    // borrowed
  PythonObject* (*item_of_tuple)(PythonObject* tuple, ssize_t index);  // borrowed
  PythonObject* (*text)(PythonObject* object);
  const char* (*utf8)(PythonObject* text, ssize_t* bytes);
  long (*number)(PythonObject* object);
  void (*clear_error)();
  void (*keep)(PythonObject* object);
  void (*release)(PythonObject* object);
  PythonObject* none;
};

// Written by the helper before it asks for the call that reads it.
extern constinit PythonApi python;

template <typename Symbol>
[[nodiscard]] bool find_in_python(const char* name, Symbol& symbol) noexcept {
  symbol = reinterpret_cast<Symbol>(dlsym(RTLD_DEFAULT, name));
  return symbol != nullptr;
}

extern constinit const SourceHooks kPythonHooks;

}  // namespace dprof::inject
