// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/python_gate.h"

#include "collector/inject/python_errors.h"
#include "collector/inject/python_gc.h"
#include "collector/inject/python_stacks.h"

namespace dprof::inject {
namespace {

enum class PythonStage { kLooking, kFound, kDone };

// Owned by the helper.
constinit PythonStage python_stage = PythonStage::kLooking;

struct GateApi {
  int (*is_initialized)();
  int (*add_pending_call)(int (*call)(void*), void* data);
};
constinit GateApi gate_api = {};

bool find_python() noexcept {
  return find_in_python("Py_IsInitialized", gate_api.is_initialized) &&
         find_in_python("Py_AddPendingCall", gate_api.add_pending_call) &&
         find_in_python("PyImport_ImportModule", python.import) &&
         find_in_python("PySys_GetObject", python.system_get) &&
         find_in_python("PySys_SetObject", python.system_set) &&
         find_in_python("PyCFunction_NewEx", python.function) &&
         find_in_python("PyObject_CallObject", python.call) &&
         find_in_python("PyObject_CallMethod", python.call_method) &&
         find_in_python("PyObject_GetAttrString", python.get) &&
         find_in_python("PyObject_SetAttrString", python.set) &&
         find_in_python("PyList_Append", python.append) &&
         find_in_python("PyDict_GetItemString", python.item_of_map) &&
         find_in_python("PyTuple_GetItem", python.item_of_tuple) &&
         find_in_python("PyObject_Str", python.text) &&
         find_in_python("PyUnicode_AsUTF8AndSize", python.utf8) &&
         find_in_python("PyLong_AsLong", python.number) &&
         find_in_python("PyErr_Clear", python.clear_error) &&
         find_in_python("Py_IncRef", python.keep) && find_in_python("Py_DecRef", python.release) &&
         find_in_python("_Py_NoneStruct", python.none);
}

// On Python's main thread, which holds the interpreter's lock.
int carry_out(void*) noexcept {
  chain_exception_hooks();
  if (collections_are_wanted()) watch_collections();
  if (stacks_are_wanted()) register_faulthandler();
  return 0;
}

void ignore_level(uint32_t, wire::DetailLevel) noexcept {}

uint64_t watch_for_python(uint64_t) noexcept {
  if (python_stage == PythonStage::kLooking) {
    python_stage = find_python() ? PythonStage::kFound : PythonStage::kDone;
  }
  if (python_stage == PythonStage::kFound && gate_api.is_initialized() != 0 &&
      gate_api.add_pending_call(&carry_out, nullptr) == 0) {
    python_stage = PythonStage::kDone;
  }
  return kNoHurry;
}

}  // namespace

constinit PythonApi python = {};

constinit const SourceHooks kPythonHooks = {&ignore_level, &watch_for_python, nullptr, nullptr,
                                            nullptr};

}  // namespace dprof::inject
