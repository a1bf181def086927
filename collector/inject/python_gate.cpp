// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/python_gate.h"

#include "collector/inject/python_errors.h"
#include "collector/inject/python_gc.h"
#include "collector/inject/python_stacks.h"

namespace dprof::inject {
namespace {

enum class PythonStage { kLooking, kFound, kDone };

// All of it is the helper's own but for what find_exception_api() and the like answered,
// which is there before the call is asked for.
constinit PythonStage python_stage = PythonStage::kLooking;
constinit bool errors_wanted = false;
constinit bool collections_wanted = false;
constinit bool stacks_wanted = false;

struct GateApi {
  int (*is_initialized)();
  int (*add_pending_call)(int (*call)(void*), void* data);
};
constinit GateApi gate_api = {};

bool find_python() noexcept {
  if (!find_in_python("Py_IsInitialized", gate_api.is_initialized) ||
      !find_in_python("Py_AddPendingCall", gate_api.add_pending_call)) {
    return false;
  }
  errors_wanted = find_exception_api();
  collections_wanted = find_gc_api();
  stacks_wanted = find_stacks_api();
  return errors_wanted || collections_wanted || stacks_wanted;
}

// On Python's main thread, which holds the interpreter's lock.
int carry_out(void*) noexcept {
  if (errors_wanted) chain_exception_hooks();
  if (collections_wanted) watch_collections();
  if (stacks_wanted) register_faulthandler();
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

constinit const SourceHooks kPythonHooks = {&ignore_level, &watch_for_python, nullptr, nullptr,
                                            nullptr};

}  // namespace dprof::inject
