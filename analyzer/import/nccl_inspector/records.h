// SPDX-License-Identifier: Apache-2.0
// Records of NCCL's Inspector plugin: one JSON object for each collective of a process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "schema/generated/rows.h"

namespace dprof::analyzer::nccl_inspector {

struct Record {
  uint64_t communicator = 0;  // the header's id
  int64_t rank = 0;           // number in the communicator
  int64_t ranks = 0;
  std::string host;
  int64_t pid = 0;
  schema::Function function{};
  std::optional<int64_t> sequence;
  std::optional<int64_t> message_bytes;  // as NCCL counts: for a reduce-scatter, one rank's result
  int64_t duration_ns = 0;
  std::optional<int64_t> start_ns;  // nullopt: only the time of writing is known
  int64_t written_ns = 0;           // CLOCK_REALTIME
  // As the plugin computed them, in 1e9 bytes/s.
  std::optional<double> algbw_gbs;
  std::optional<double> busbw_gbs;
};

// The next JSON object of the text, removed from it; "" = none. Separators between objects (line
// ends, commas) are skipped. nullopt: the object is incomplete.
[[nodiscard]] std::optional<std::string_view> next_object(std::string_view& text);

// kNotATrace: not a record of a collective; kDamaged: not JSON.
Result<Record> record_of(std::string_view object);

// Bytes of this rank's input, as the trace's tables count them.
[[nodiscard]] std::optional<int64_t> input_bytes(const Record& record);

}  // namespace dprof::analyzer::nccl_inspector
