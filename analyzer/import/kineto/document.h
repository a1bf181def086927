// SPDX-License-Identifier: Apache-2.0
// A Chrome JSON file of any size as a stream of events: an object with `traceEvents`, or a bare
// array.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "analyzer/import/input.h"
#include "analyzer/import/kineto/event.h"

namespace dprof::analyzer::kineto {

// The reason why an element of `traceEvents` is not an event.
enum class BadElement : uint8_t { kNotAnObject, kNotJson, kTooDeep, kTooLong };

class DocumentHandler {
 public:
  virtual ~DocumentHandler() = default;
  // Valid during the call.
  virtual void event(const Event& event) = 0;
  virtual void bad_element(BadElement why) = 0;
  // A member of the outermost object except traceEvents; before or after it. Members that are too
  // long are left out.
  virtual void member(std::string_view key, const Value& value) = 0;
  // After each block of the file; false: stop reading.
  virtual bool go_on() = 0;
};

struct DocumentEnd {
  bool has_events = false;  // the file has a `traceEvents`, or is a bare array
  bool whole = false;       // read to its end
  bool stopped = false;     // the handler stopped
  std::string why;          // if not whole: what was found instead
};

// Holds one block of the file, or one event if that is longer (kMaxElement at most). Invalid JSON
// within an event costs only that event, if the next one can be found.
// Cost  O(bytes), no allocation per event.
DocumentEnd read_document(Input& input, DocumentHandler& handler);

inline constexpr size_t kMaxElement = size_t{16} << 20;

}  // namespace dprof::analyzer::kineto
