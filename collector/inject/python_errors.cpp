// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/python_errors.h"

#include <sys/types.h>

#include <cstdio>
#include <cstring>

#include "collector/inject/python_gate.h"
#include "collector/inject/session.h"

namespace dprof::inject {
namespace {

using Object = PythonObject;

struct Api {
  Object* (*system_get)(const char* name);  // borrowed
  int (*system_set)(const char* name, Object* value);
  Object* (*function)(PythonMethod* method, Object* self, Object* module);
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

constinit PythonMethod exception_method = {"excepthook", &on_exception, kPositionalArguments,
                                           nullptr};
constinit PythonMethod thread_method = {"excepthook", &on_thread_exception, kPositionalArguments,
                                        nullptr};

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

}  // namespace

bool find_exception_api() noexcept {
  return find_in_python("PySys_GetObject", api.system_get) &&
         find_in_python("PySys_SetObject", api.system_set) &&
         find_in_python("PyCFunction_NewEx", api.function) &&
         find_in_python("PyObject_CallObject", api.call) &&
         find_in_python("PyObject_GetAttrString", api.get) &&
         find_in_python("PyObject_SetAttrString", api.set) &&
         find_in_python("PyDict_GetItemString", api.item_of_map) &&
         find_in_python("PyTuple_GetItem", api.item_of_tuple) &&
         find_in_python("PyObject_Str", api.text) &&
         find_in_python("PyUnicode_AsUTF8AndSize", api.utf8) &&
         find_in_python("PyLong_AsLong", api.number) &&
         find_in_python("PyErr_Clear", api.clear_error) && find_in_python("Py_IncRef", api.keep) &&
         find_in_python("Py_DecRef", api.release) && find_in_python("_Py_NoneStruct", api.none);
}

void chain_exception_hooks() noexcept {
  Object* before = api.system_get("excepthook");
  const Owned hook(api.function(&exception_method, nullptr, nullptr));
  if (before != nullptr && hook.get() != nullptr) {
    api.keep(before);
    hook_before = before;
    api.system_set("excepthook", hook.get());
  }
  chain_threads();
  api.clear_error();
}

}  // namespace dprof::inject
