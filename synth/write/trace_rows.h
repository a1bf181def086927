// SPDX-License-Identifier: Apache-2.0
// Writes what happened on a rank as the recorder would have: on its host's clock, in the order of
// the tables, until the end of its recording.
#pragma once

#include <filesystem>
#include <optional>

#include "schema/trace_writer.h"
#include "synth/engine/trail.h"
#include "synth/model/model.h"
#include "synth/truth/truth.h"

namespace dprof::synth {

inline constexpr std::string_view kRunId = "5e17c0de-0000-4000-8000-000000000007";

// A trace to be written.
struct TraceOrder {
  const Model* model = nullptr;
  const Truth* truth = nullptr;  // its hosts
  int rank = 0;
  int64_t host_end = 0;  // when the recorder stopped sampling the clocks
};

struct TraceTally {
  int64_t rows = 0;
  int64_t dropped = 0;
};

[[nodiscard]] std::string trace_file_name(int rank);

Result<TraceTally> write_trace(const std::filesystem::path& file, const TraceOrder& order,
                               const Trail& trail);

// The end of a trace, in the words of meta.ended ("" = its recorder died).
[[nodiscard]] std::string ended_word(const Model& model, int rank, const Ending& ending);

// When the recording of a rank stopped; later than the rank's end unless it was cut off.
[[nodiscard]] int64_t recorded_until(const Model& model, int rank, const Trail& trail);

}  // namespace dprof::synth
