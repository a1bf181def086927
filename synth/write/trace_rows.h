// SPDX-License-Identifier: Apache-2.0
// Writes what happened on a rank as the recorder would have: on its host's clock, in the order of
// the tables, up to the moment to which it was recorded.
#pragma once

#include <filesystem>
#include <optional>

#include "schema/trace_writer.h"
#include "synth/engine/trail.h"
#include "synth/model/model.h"
#include "synth/truth/truth.h"

namespace dprof::synth {

inline constexpr std::string_view kRunId = "5e17c0de-0000-4000-8000-000000000007";

// A trace as it is to be written.
struct TraceOrder {
  const Model* model = nullptr;
  const Truth* truth = nullptr;  // its hosts
  int rank = 0;
  int64_t host_end = 0;  // until when the recorder looked at the clocks
};

struct TraceTally {
  int64_t rows = 0;
  int64_t dropped = 0;
};

[[nodiscard]] std::string trace_file_name(int rank);

Result<TraceTally> write_trace(const std::filesystem::path& file, const TraceOrder& order,
                               const Trail& trail);

// How a trace ended, in the words of meta.ended ("" = its recorder died).
[[nodiscard]] std::string ended_word(const Model& model, int rank, const Ending& ending);

// Until when a rank was recorded; later than its end where nothing cut it.
[[nodiscard]] int64_t recorded_until(const Model& model, int rank, const Trail& trail);

}  // namespace dprof::synth
