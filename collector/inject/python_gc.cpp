// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/python_gc.h"

#include <cstring>

#include "collector/inject/environment.h"
#include "collector/inject/python_gate.h"
#include "collector/inject/session.h"
#include "collector/inject/threads.h"
#include "collector/wire/enum_values.h"
#include "collector/wire/hello.h"

namespace dprof::inject {
namespace {

constexpr const char* kNames[] = {"gc.collect generation 0", "gc.collect generation 1",
                                  "gc.collect generation 2"};
constexpr long kGenerations = sizeof kNames / sizeof kNames[0];

// Collections do not nest, so one id is enough for all.
const uint64_t kCollectionId = reinterpret_cast<uintptr_t>(&kNames);

long info_number(PythonObject* info, const char* key) noexcept {
  PythonObject* value = info != nullptr ? python.item_of_map(info, key) : nullptr;
  return value != nullptr ? python.number(value) : 0;
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

// HOT PATH, on any thread that runs Python, with the interpreter's lock. Only if the thread has
// recorded something else: a launcher that imports torch leaves no trace of its collections. An end
// is also written while the source is off, if its begin was written.
PythonObject* on_collection(PythonObject*, PythonObject* arguments) noexcept {
  const char* phase = python.utf8(python.item_of_tuple(arguments, 0), nullptr);
  PythonObject* info = python.item_of_tuple(arguments, 1);
  if (phase != nullptr && strcmp(phase, "start") == 0) {
    ThreadState* thread = (hot_mask() & kMaskTorch) != 0 ? thread_state : nullptr;
    if (thread != nullptr) begin_collection(*thread, info);
  } else if (phase != nullptr) {
    ThreadState* thread = session_alive() ? thread_state : nullptr;
    if (thread != nullptr) end_collection(*thread, info);
  }
  python.clear_error();
  python.keep(python.none);
  return python.none;
}

constinit PythonMethod gc_method = {"dprof_collection", &on_collection, kPositionalArguments,
                                    nullptr};

}  // namespace

bool collections_are_wanted() noexcept {
  const char* asked = noted_variable(wire::kPythonVariable);
  return asked == nullptr || strcmp(asked, "gc=off") != 0;
}

void watch_collections() noexcept {
  PythonObject* module = python.import("gc");
  PythonObject* callbacks = module != nullptr ? python.get(module, "callbacks") : nullptr;
  PythonObject* hook =
      callbacks != nullptr ? python.function(&gc_method, nullptr, nullptr) : nullptr;
  if (hook != nullptr) python.append(callbacks, hook);
  for (PythonObject* object : {hook, callbacks, module}) {
    if (object != nullptr) python.release(object);
  }
  python.clear_error();
}

}  // namespace dprof::inject
