// SPDX-License-Identifier: Apache-2.0
// Events whose begin and end are two rows of the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/import/kineto/event.h"
#include "analyzer/import/sink/trace_sink.h"

namespace dprof::analyzer::kineto {

// B/E nest on their thread; an end with a name ends the innermost range of that name. b/e and S/F
// are paired by category and id, on any thread. Ranges without an end stay open.
// Memory  the open ones.
class Pairs {
 public:
  explicit Pairs(TraceSink& sink) : sink_(sink) {}

  void begin(int64_t thread, int64_t time, std::string_view name);
  void end(int64_t thread, int64_t time, std::string_view name);
  void begin_async(const Event& event, int64_t thread, int64_t time, std::string_view name);
  void end_async(const Event& event, int64_t time);

  // Writes the ranges that are still open.
  void finish();

 private:
  struct Open {
    schema::HostRangeRow row;
    std::string name;
  };
  void close(std::vector<Open>& open, size_t at, int64_t time);
  const std::string& async_key(const Event& event);

  TraceSink& sink_;
  std::string key_;
  std::unordered_map<int64_t, std::vector<Open>> threads_;
  std::unordered_map<std::string, std::vector<Open>> async_;
};

}  // namespace dprof::analyzer::kineto
