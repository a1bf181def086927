// SPDX-License-Identifier: Apache-2.0
#include "collector/inject/python_errors.h"

#include <cstdio>
#include <cstring>
#include <string_view>

#include "collector/inject/python_gate.h"
#include "collector/inject/session.h"

namespace dprof::inject {
namespace {

using Object = PythonObject;

constinit Object* hook_before = nullptr;         // sys.excepthook
constinit Object* thread_hook_before = nullptr;  // threading.excepthook

// An owned reference. Any pending interpreter error is ours, and is cleared.
class Owned {
 public:
  explicit Owned(Object* object) noexcept : object_(object) {
    if (object == nullptr) python.clear_error();
  }
  Owned(Object* from, const char* name) noexcept
      : Owned(from != nullptr ? python.get(from, name) : nullptr) {}
  ~Owned() {
    if (object_ != nullptr) python.release(object_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  [[nodiscard]] Object* get() const noexcept { return object_; }
  void become(Object* object) noexcept {
    if (object_ != nullptr) python.release(object_);
    object_ = object;
    if (object == nullptr) python.clear_error();
  }

 private:
  Object* object_;
};

constexpr size_t kMostMessage = 1024;
constexpr int kMostFrames = 5;
constexpr int kDeepest = 2000;  // Python's own limit of recursion is 1000

// The noted text: "TYPE: MESSAGE", then a line "FILE:LINE FUNCTION" for each frame, the innermost
// first, each after a tab.
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
    const char* utf8 = text != nullptr ? python.utf8(text, &bytes) : nullptr;
    if (utf8 == nullptr) return python.clear_error();
    add(utf8, static_cast<size_t>(bytes), most);
  }
  // Tabs are reserved for frames.
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
  snprintf(number, sizeof number, ":%ld ", python.number(line.get()));
  words.add(number);
  words.add(function.get(), kMostName);
}

// A traceback runs from the outermost frame inwards.
void add_frames(Words& words, Object* trace) noexcept {
  Object* last[kMostFrames] = {};
  int count = 0;
  // The chain keeps its links alive; each is read through its own reference.
  Owned at(nullptr);
  Object* link = trace;
  while (link != nullptr && link != python.none && count < kDeepest) {
    last[count++ % kMostFrames] = link;
    at.become(python.get(link, "tb_next"));
    link = at.get();
  }
  const int kept = count < kMostFrames ? count : kMostFrames;
  for (int i = 1; i <= kept; ++i) add_frame(words, last[(count - i) % kMostFrames]);
}

void note(Object* type, Object* value, Object* trace, std::string_view where) noexcept {
  if (type == nullptr) return;
  Words words;
  const Owned name(type, "__name__");
  words.add(name.get(), kMostMessage);
  const Owned message(value != nullptr && value != python.none ? python.text(value) : nullptr);
  if (message.get() != nullptr) {
    words.add(": ");
    words.add(message.get(), kMostMessage);
  }
  words.without_tabs();
  words.add(where.data(), where.size(), where.size());
  add_frames(words, trace);
  note_exception(words.c_str());
}

// `sys.exit` within an exception handler: the handled exception is the reason.
void note_passing(Object* value) noexcept {
  if (value == nullptr || value == python.none) return;
  const Owned type(value, "__class__");
  const Owned name(type.get(), "__name__");
  ssize_t bytes = 0;
  const char* utf8 = name.get() != nullptr ? python.utf8(name.get(), &bytes) : nullptr;
  if (utf8 == nullptr) return python.clear_error();
  if (strcmp(utf8, "SystemExit") == 0) {
    const Owned code(value, "code");
    if (code.get() == nullptr || code.get() == python.none || python.number(code.get()) == 0)
      return;              // not a failure
    python.clear_error();  // an exit code can be a text
    const Owned reason(value, "__context__");
    const Owned reason_type(reason.get() != python.none ? reason.get() : nullptr, "__class__");
    const Owned trace(reason.get(), "__traceback__");
    return note(reason_type.get(), reason.get(), trace.get(), "");
  }
  const Owned trace(value, "__traceback__");
  note(type.get(), value, trace.get(), "");
}

Object* on_exception(Object*, Object* arguments) noexcept {
  note(python.item_of_tuple(arguments, 0), python.item_of_tuple(arguments, 1),
       python.item_of_tuple(arguments, 2), "");
  python.clear_error();
  return python.call(hook_before, arguments);
}

// Called with one threading.ExceptHookArgs, which is a tuple.
Object* on_thread_exception(Object*, Object* arguments) noexcept {
  if (Object* raised = python.item_of_tuple(arguments, 0)) {
    note(python.item_of_tuple(raised, 0), python.item_of_tuple(raised, 1),
         python.item_of_tuple(raised, 2), wire::kEndedItsThread);
  }
  python.clear_error();
  return python.call(thread_hook_before, arguments);
}

constinit PythonMethod exception_method = {"excepthook", &on_exception, kPositionalArguments,
                                           nullptr};
constinit PythonMethod thread_method = {"excepthook", &on_thread_exception, kPositionalArguments,
                                        nullptr};

void chain_threads() noexcept {
  Object* modules = python.system_get("modules");
  Object* threading = modules != nullptr ? python.item_of_map(modules, "threading") : nullptr;
  if (threading == nullptr) return;
  Object* before = python.get(threading, "excepthook");
  if (before == nullptr) return;
  const Owned hook(python.function(&thread_method, nullptr, nullptr));
  if (hook.get() == nullptr) return;
  thread_hook_before = before;
  python.set(threading, "excepthook", hook.get());
}

// A child of multiprocessing catches the exception of its target, and prints it or, as torch's
// `mp.spawn`, passes it to the parent and exits. Its finalizers run while the exception is handled.
Object* on_child_end(Object*, Object*) noexcept {
  Object* info = python.system_get("exc_info");
  const Owned raised(info != nullptr ? python.call(info, nullptr) : nullptr);
  if (raised.get() != nullptr) note_passing(python.item_of_tuple(raised.get(), 1));
  python.clear_error();
  python.keep(python.none);
  return python.none;
}

constinit PythonMethod child_method = {"note_exception", &on_child_end, kPositionalArguments,
                                       nullptr};

// Only if already imported, because then multiprocessing started this process. A fork child starts
// with empty finalizers, so only children of `spawn` are seen.
void watch_multiprocessing() noexcept {
  constexpr int kFirst = 1'000'000;  // among the finalizers: others may raise and catch
  Object* modules = python.system_get("modules");
  Object* util = modules != nullptr ? python.item_of_map(modules, "multiprocessing.util") : nullptr;
  if (util == nullptr) return;
  const Owned note(python.function(&child_method, nullptr, nullptr));
  if (note.get() == nullptr) return;
  const Owned made(
      python.call_method(util, "Finalize", "OO()Oi", python.none, note.get(), python.none, kFirst));
}

}  // namespace

void chain_exception_hooks() noexcept {
  Object* before = python.system_get("excepthook");
  const Owned hook(python.function(&exception_method, nullptr, nullptr));
  if (before != nullptr && hook.get() != nullptr) {
    python.keep(before);
    hook_before = before;
    python.system_set("excepthook", hook.get());
  }
  chain_threads();
  watch_multiprocessing();
  python.clear_error();
}

}  // namespace dprof::inject
