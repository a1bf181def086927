// SPDX-License-Identifier: Apache-2.0
// From a process's arena ids to a trace's string ids, with facts derived from the name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "collector/recorder/rows/trace_output.h"
#include "collector/wire/layout.h"
#include "schema/marker_names.h"

namespace dprof::recorder {

struct Name {
  int64_t id = 0;  // in the trace's `string` table; 0 = no text
  schema::Marker marker = schema::Marker::kNone;
  schema::Function function = schema::Function::kUnknown;  // of a "gloo:…" range
};

// Threading  one thread.
// Cost       a hash look-up per name; each distinct arena entry is read once. At most kMost entries
//            of 100 to 200 bytes: later ones share one name, and are counted.
class Names {
 public:
  static constexpr size_t kMost = 1 << 19;
  static constexpr std::string_view kOtherNames = "(other names)";

  Names(const wire::Mapping& mapping, TraceOutput& output);

  // The name of an arena id; an invalid id has no text and is counted.
  const Name& find(uint32_t arena_id_untrusted);

  // The text itself, "" for an invalid id; a copy, because the arena is shared.
  [[nodiscard]] std::string text(uint32_t arena_id_untrusted) const;

  [[nodiscard]] int64_t bad_ids() const { return bad_ids_; }
  // Requests for a name beyond the limit.
  [[nodiscard]] int64_t refused() const { return refused_; }

 private:
  const Name& read(uint32_t arena_id);

  wire::Mapping mapping_;
  TraceOutput& output_;
  std::unordered_map<uint32_t, Name> known_;
  uint32_t last_id_ = 0;  // the last requested id: ranges repeat
  const Name* last_;
  Name other_;
  int64_t bad_ids_ = 0;
  int64_t refused_ = 0;
};

// The function that a range of Gloo's worker threads executes: "gloo:all_reduce" is an all_reduce.
[[nodiscard]] schema::Function function_of_range(std::string_view name);

}  // namespace dprof::recorder
