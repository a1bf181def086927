// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/python_errors.h"

#include <dlfcn.h>
#include <sys/types.h>

#include <cstdio>
#include <cstring>

#include "collector/inject/session.h"

namespace dprof::inject {
namespace {

using Object = void;  // PyObject

// PyMethodDef: part of Python's stable ABI (PEP 384), like all that is looked up below.
struct Method {
  const char* name;
  Object* (*call)(Object* self, Object* arguments);
  int flags;
  const char* docs;
};
constexpr int kPositional = 1;  // METH_VARARGS

struct Api {
  int (*is_initialized)();
  int (*add_pending_call)(int (*call)(void*), void* data);
  Object* (*system_get)(const char* name);  // borrowed
  int (*system_set)(const char* name, Object* value);
  Object* (*function)(Method* method, Object* self, Object* module);
  Object* (*call)(Object* callable, Object* arguments);
  Object* (*get)(Object* object, const char* name);
  int (*set)(Object* object, const char* name, Object* value);
  Object* (*item_of_map)(Object* map, const char* key);    // borrowed
  Object* (*item_of_tuple)(Object* tuple, ssize_t index);  // borrowed
  Object* (*text)(Object* object);
  const char* (*utf8)(Object* text, ssize_t* bytes);
  long (*number)(Object* object);
  void (*clear_error)();
  void (*keep)(Object* object);
  void (*release)(Object* object);
  Object* none;

  template <typename Symbol>
  static bool find(const char* name, Symbol& symbol) noexcept {
    symbol = reinterpret_cast<Symbol>(dlsym(RTLD_DEFAULT, name));
    return symbol != nullptr;
  }

  [[nodiscard]] bool find_all() noexcept {
    return find("Py_IsInitialized", is_initialized) &&
           find("Py_AddPendingCall", add_pending_call) && find("PySys_GetObject", system_get) &&
           find("PySys_SetObject", system_set) && find("PyCFunction_NewEx", function) &&
           find("PyObject_CallObject", call) && find("PyObject_GetAttrString", get) &&
           find("PyObject_SetAttrString", set) && find("PyDict_GetItemString", item_of_map) &&
           find("PyTuple_GetItem", item_of_tuple) && find("PyObject_Str", text) &&
           find("PyUnicode_AsUTF8AndSize", utf8) && find("PyLong_AsLong", number) &&
           find("PyErr_Clear", clear_error) && find("Py_IncRef", keep) &&
           find("Py_DecRef", release) && find("_Py_NoneStruct", none);
  }
};

// Written by the helper before it asks for the call that reads it.
constinit Api api = {};
constinit Object* hook_before = nullptr;         // sys.excepthook
constinit Object* thread_hook_before = nullptr;  // threading.excepthook

// A reference that is given back. Any error of the interpreter's is ours, and is cleared.
class Owned {
 public:
  explicit Owned(Object* object) noexcept : object_(object) {
    if (object == nullptr) api.clear_error();
  }
  Owned(Object* from, const char* name) noexcept
      : Owned(from != nullptr ? api.get(from, name) : nullptr) {}
  ~Owned() {
    if (object_ != nullptr) api.release(object_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  [[nodiscard]] Object* get() const noexcept { return object_; }
  void become(Object* object) noexcept {
    if (object_ != nullptr) api.release(object_);
    object_ = object;
    if (object == nullptr) api.clear_error();
  }

 private:
  Object* object_;
};

constexpr size_t kMostMessage = 1024;
constexpr int kMostFrames = 5;
constexpr int kDeepest = 2000;  // Python's own limit of recursion is 1000

// What is noted: "TYPE: MESSAGE", then a line "FILE:LINE FUNCTION" for each frame, the innermost
// first, each behind a tab.
class Words {
 public:
  void add(const char* text, size_t bytes, size_t most) noexcept {
    if (bytes > most) bytes = most;
    if (bytes > sizeof text_ - 1 - used_) bytes = sizeof text_ - 1 - used_;
    memcpy(text_ + used_, text, bytes);
    used_ += bytes;
    text_[used_] = '\0';
  }
  void add(const char* text) noexcept { add(text, strlen(text), sizeof text_); }
  void add(Object* text, size_t most) noexcept {
    ssize_t bytes = 0;
    const char* utf8 = text != nullptr ? api.utf8(text, &bytes) : nullptr;
    if (utf8 == nullptr) return api.clear_error();
    add(utf8, static_cast<size_t>(bytes), most);
  }
  // A tab is a frame's.
  void without_tabs() noexcept {
    for (size_t i = 0; i < used_; ++i) {
      if (text_[i] == '\t') text_[i] = ' ';
    }
  }
  [[nodiscard]] const char* c_str() const noexcept { return text_; }

 private:
  char text_[wire::kMaxTextBytes] = {};
  size_t used_ = 0;
};

void add_frame(Words& words, Object* trace) noexcept {
  const Owned line(trace, "tb_lineno");
  const Owned frame(trace, "tb_frame");
  const Owned code(frame.get(), "f_code");
  const Owned file(code.get(), "co_filename");
  const Owned function(code.get(), "co_name");
  if (line.get() == nullptr) return;
  constexpr size_t kMostName = 256;
  words.add("\n\t");
  words.add(file.get(), kMostName);
  char number[24];
  snprintf(number, sizeof number, ":%ld ", api.number(line.get()));
  words.add(number);
  words.add(function.get(), kMostName);
}

// A traceback leads from the outermost frame inwards.
void add_frames(Words& words, Object* trace) noexcept {
  Object* last[kMostFrames] = {};
  int count = 0;
  // The chain keeps its links alive; each is looked at through a reference of its own.
  Owned at(nullptr);
  Object* link = trace;
  while (link != nullptr && link != api.none && count < kDeepest) {
    last[count++ % kMostFrames] = link;
    at.become(api.get(link, "tb_next"));
    link = at.get();
  }
  const int kept = count < kMostFrames ? count : kMostFrames;
  for (int i = 1; i <= kept; ++i) add_frame(words, last[(count - i) % kMostFrames]);
}

void note(Object* type, Object* value, Object* trace, const char* where) noexcept {
  if (type == nullptr) return;
  Words words;
  const Owned name(type, "__name__");
  words.add(name.get(), kMostMessage);
  const Owned message(value != nullptr && value != api.none ? api.text(value) : nullptr);
  if (message.get() != nullptr) {
    words.add(": ");
    words.add(message.get(), kMostMessage);
  }
  words.without_tabs();
  words.add(where);
  add_frames(words, trace);
  note_exception(words.c_str());
}

Object* on_exception(Object*, Object* arguments) noexcept {
  note(api.item_of_tuple(arguments, 0), api.item_of_tuple(arguments, 1),
       api.item_of_tuple(arguments, 2), "");
  api.clear_error();
  return api.call(hook_before, arguments);
}

// Called with one threading.ExceptHookArgs, which is a tuple.
Object* on_thread_exception(Object*, Object* arguments) noexcept {
  if (Object* raised = api.item_of_tuple(arguments, 0)) {
    note(api.item_of_tuple(raised, 0), api.item_of_tuple(raised, 1), api.item_of_tuple(raised, 2),
         " (in a thread; the process went on)");
  }
  api.clear_error();
  return api.call(thread_hook_before, arguments);
}

constinit Method exception_method = {"excepthook", &on_exception, kPositional, nullptr};
constinit Method thread_method = {"excepthook", &on_thread_exception, kPositional, nullptr};

void chain_threads() noexcept {
  Object* modules = api.system_get("modules");
  Object* threading = modules != nullptr ? api.item_of_map(modules, "threading") : nullptr;
  if (threading == nullptr) return;
  Object* before = api.get(threading, "excepthook");
  if (before == nullptr) return;
  const Owned hook(api.function(&thread_method, nullptr, nullptr));
  if (hook.get() == nullptr) return;
  thread_hook_before = before;
  api.set(threading, "excepthook", hook.get());
}

// On Python's main thread, which holds the interpreter's lock.
int put_in_place(void*) noexcept {
  Object* before = api.system_get("excepthook");
  const Owned hook(api.function(&exception_method, nullptr, nullptr));
  if (before != nullptr && hook.get() != nullptr) {
    api.keep(before);
    hook_before = before;
    api.system_set("excepthook", hook.get());
  }
  chain_threads();
  api.clear_error();
  return 0;
}

enum class Stage { kLooking, kFound, kDone };
constinit Stage stage = Stage::kLooking;

void ignore_level(uint32_t, wire::DetailLevel) noexcept {}

uint64_t watch_for_python(uint64_t) noexcept {
  if (stage == Stage::kDone) return kNoHurry;
  if (stage == Stage::kLooking) stage = api.find_all() ? Stage::kFound : Stage::kDone;
  if (stage == Stage::kFound && api.is_initialized() != 0 &&
      api.add_pending_call(&put_in_place, nullptr) == 0) {
    stage = Stage::kDone;
  }
  return kNoHurry;
}

}  // namespace

constinit const SourceHooks kPythonHooks = {&ignore_level, &watch_for_python, nullptr, nullptr,
                                            nullptr};

}  // namespace dprof::inject
