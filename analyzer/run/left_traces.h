// SPDX-License-Identifier: Apache-2.0
// Traces of a run that are not in its folder: `dprof record --local` lets them grow on the node's
// own disk, and a note in the run folder (RUN/HOST-PID.local) says where until all have been moved.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/vocabulary/diagnostic.h"

namespace dprof::analyzer {

// Of one recorder.
struct LeftTraces {
  std::string host;
  std::string folder;             // on that host
  std::optional<int64_t> traces;  // nullopt: not known here
  std::string why;                // they could not be moved; "" = the recorder works, or was killed
};

// By what the notes say, and by the folders themselves where this process can look into them; a
// folder without a trace is none. What is no note is passed over.
[[nodiscard]] std::vector<LeftTraces> find_left_traces(const std::filesystem::path& run);
[[nodiscard]] Diagnostic diagnostic_of(const LeftTraces& left);

}  // namespace dprof::analyzer
