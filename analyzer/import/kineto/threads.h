// SPDX-License-Identifier: Apache-2.0
// Host threads of a file, where pids and tids are numbers or words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/import/kineto/event.h"
#include "analyzer/import/sink/trace_sink.h"

namespace dprof::analyzer::kineto {

// A missing tid is taken to be the pid (its main thread), a missing pid to be the tid.
class Threads {
 public:
  explicit Threads(TraceSink& sink) : sink_(sink) {}

  // The thread of an event. Most events are on the same thread as the previous one.
  int64_t of(const Event& event);
  void is_autograd(int64_t thread) { set_role(thread, schema::ThreadRole::kAutograd); }
  void communicates(int64_t thread) { set_role(thread, schema::ThreadRole::kCommunication); }
  // From metadata, which can precede or follow the thread's events.
  void name(const Event& event, std::string name);

  // Sets names and main threads; returns the number of names of threads without events.
  int64_t finish();

 private:
  const std::string& key_of(const Event& event);
  void set_role(int64_t thread, schema::ThreadRole role);

  TraceSink& sink_;
  std::string key_;
  std::string last_key_;
  int64_t last_ = -1;
  std::unordered_map<std::string, int64_t> ids_;
  std::unordered_map<std::string, std::string> names_;
  std::vector<bool> main_;  // by thread: its tid is its pid
};

}  // namespace dprof::analyzer::kineto
