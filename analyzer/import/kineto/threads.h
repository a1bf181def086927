// SPDX-License-Identifier: Apache-2.0
// Host threads of a file: pids and tids are numbers or words there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/import/kineto/event.h"
#include "analyzer/import/sink/trace_sink.h"

namespace dprof::analyzer::kineto {

// A missing tid is the pid's main thread, a missing pid that of the tid.
class Threads {
 public:
  explicit Threads(TraceSink& sink) : sink_(sink) {}

  // The thread of an event. Most events are of the same one as the event before.
  int64_t of(const Event& event);
  void is_autograd(int64_t thread) { set_role(thread, schema::ThreadRole::kAutograd); }
  void communicates(int64_t thread) { set_role(thread, schema::ThreadRole::kCommunication); }
  // From metadata, which may come before or after the thread's events.
  void name(const Event& event, std::string name);

  // Gives names and main threads; returns how many names were of no thread with events.
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
