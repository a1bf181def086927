// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/python_gc.h"

#include <sys/types.h>

#include <cstring>

#include "collector/inject/environment.h"
#include "collector/inject/python_gate.h"
#include "collector/inject/session.h"
#include "collector/inject/threads.h"
#include "collector/wire/enum_values.h"
#include "collector/wire/hello.h"

namespace dprof::inject {
namespace {

struct GcApi {
  PythonObject* (*import)(const char* name);
  PythonObject* (*get)(PythonObject* object, const char* name);
  PythonObject* (*function)(PythonMethod* method, PythonObject* self, PythonObject* module);
  int (*append)(PythonObject* list, PythonObject* item);
  PythonObject* (*item_of_tuple)(PythonObject* tuple, ssize_t index);  // borrowed
  PythonObject* (*item_of_map)(PythonObject* map, const char* key);    // borrowed
  const char* (*utf8)(PythonObject* text, ssize_t* bytes);
  long (*number)(PythonObject* object);
  void (*clear_error)();
  void (*keep)(PythonObject* object);
  void (*release)(PythonObject* object);
  PythonObject* none;
};

// Written by the helper before it asks for the call that reads it.
constinit GcApi gc_api = {};

constexpr const char* kNames[] = {"gc.collect generation 0", "gc.collect generation 1",
                                  "gc.collect generation 2"};
constexpr long kGenerations = sizeof kNames / sizeof kNames[0];

// Collections do not nest, so one id is enough for all of them.
const uint64_t kCollectionId = reinterpret_cast<uintptr_t>(&gc_api);

long info_number(PythonObject* info, const char* key) noexcept {
  PythonObject* value = info != nullptr ? gc_api.item_of_map(info, key) : nullptr;
  return value != nullptr ? gc_api.number(value) : 0;
}

void begin_collection(ThreadState& thread, PythonObject* info) noexcept {
  const long generation = info_number(info, "generation");
  const HookTimer timer(thread);
  wire::Record record{};
  record.kind = wire::Kind::kRangeBegin;
  record.slots = 1;
  record.range_begin = {};
  record.range_begin.sequence = -1;
  record.range_begin.category = wire::range_category::kPython;
  record.range_begin.source = wire::source::kTorch;
  record.string = thread.texts.id_of(
      runtime.mapping, kNames[generation >= 0 && generation < kGenerations ? generation : 2]);
  record.ticks = ticks();
  if (thread.writer.push(record)) thread.torch_open.push(kCollectionId, true);
}

void end_collection(ThreadState& thread, PythonObject* info) noexcept {
  const uint64_t now = ticks();
  const HookTimer timer(thread);
  if (!thread.torch_open.pop(kCollectionId)) return;
  wire::Record record{};
  record.kind = wire::Kind::kRangeEnd;
  record.slots = 1;
  record.range_end = {};
  record.range_end.category = wire::range_category::kPython;
  record.range_end.payload_kind = wire::payload_kind::kInt64;
  record.range_end.payload = static_cast<uint64_t>(info_number(info, "collected"));
  record.ticks = now;
  thread.writer.push(record, wire::Room::kNestedEnd);
}

// HOT PATH, on any thread that runs Python, with the interpreter's lock. Only where the thread
// has recorded something else: a launcher that imports torch leaves no trace of its collections.
// An end is written also while the source is off, if its begin was.
PythonObject* on_collection(PythonObject*, PythonObject* arguments) noexcept {
  const char* phase = gc_api.utf8(gc_api.item_of_tuple(arguments, 0), nullptr);
  PythonObject* info = gc_api.item_of_tuple(arguments, 1);
  if (phase != nullptr && strcmp(phase, "start") == 0) {
    ThreadState* thread = (hot_mask() & kMaskTorch) != 0 ? thread_state : nullptr;
    if (thread != nullptr) begin_collection(*thread, info);
  } else if (phase != nullptr) {
    ThreadState* thread = session_alive() ? thread_state : nullptr;
    if (thread != nullptr) end_collection(*thread, info);
  }
  gc_api.clear_error();
  gc_api.keep(gc_api.none);
  return gc_api.none;
}

constinit PythonMethod gc_method = {"dprof_collection", &on_collection, kPositionalArguments,
                                    nullptr};

}  // namespace

bool find_gc_api() noexcept {
  const char* asked = noted_variable(wire::kPythonVariable);
  if (asked != nullptr && strcmp(asked, "gc=off") == 0) return false;
  return find_in_python("PyImport_ImportModule", gc_api.import) &&
         find_in_python("PyObject_GetAttrString", gc_api.get) &&
         find_in_python("PyCFunction_NewEx", gc_api.function) &&
         find_in_python("PyList_Append", gc_api.append) &&
         find_in_python("PyTuple_GetItem", gc_api.item_of_tuple) &&
         find_in_python("PyDict_GetItemString", gc_api.item_of_map) &&
         find_in_python("PyUnicode_AsUTF8AndSize", gc_api.utf8) &&
         find_in_python("PyLong_AsLong", gc_api.number) &&
         find_in_python("PyErr_Clear", gc_api.clear_error) &&
         find_in_python("Py_IncRef", gc_api.keep) && find_in_python("Py_DecRef", gc_api.release) &&
         find_in_python("_Py_NoneStruct", gc_api.none);
}

void watch_collections() noexcept {
  PythonObject* module = gc_api.import("gc");
  PythonObject* callbacks = module != nullptr ? gc_api.get(module, "callbacks") : nullptr;
  PythonObject* hook =
      callbacks != nullptr ? gc_api.function(&gc_method, nullptr, nullptr) : nullptr;
  if (hook != nullptr) gc_api.append(callbacks, hook);
  for (PythonObject* object : {hook, callbacks, module}) {
    if (object != nullptr) gc_api.release(object);
  }
  gc_api.clear_error();
}

}  // namespace dprof::inject
