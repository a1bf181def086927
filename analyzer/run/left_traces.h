// SPDX-License-Identifier: Apache-2.0
// Traces of a run that are outside its folder: `dprof record --local` writes them to the node's own
// disk, and a note in the run folder (RUN/HOST-PID.local) says where until all have been moved.
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
  std::optional<int64_t> traces;  // nullopt: unknown here
  std::string why;                // why they were not moved; "" = the recorder runs, or was killed
};

// From the notes, and from the folders themselves where this process can read them; a folder
// without traces is omitted. Files that are not notes are ignored.
[[nodiscard]] std::vector<LeftTraces> find_left_traces(const std::filesystem::path& run);
[[nodiscard]] Diagnostic diagnostic_of(const LeftTraces& left);

}  // namespace dprof::analyzer
