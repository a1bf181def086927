// SPDX-License-Identifier: Apache-2.0
// `run.json`, the index of a run.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace dprof::recorder {

inline constexpr char kIndexName[] = "run.json";

struct TraceEntry {
  std::string file;
  std::optional<int> rank;
  std::string host;
  std::string ended;
};

struct RunDiagnostic {
  std::string code;
  std::string text;
};

// The content of run.json. It is an index: the traces themselves contain the same.
struct RunIndex {
  std::string id;
  std::string command;
  std::optional<int> world_size;
  std::vector<std::string> recorders;  // hosts
  std::vector<TraceEntry> traces;
  std::vector<RunDiagnostic> diagnostics;  // about things without a trace: ranks never seen, …
};

// Rewrites `folder`'s index completely.
Status write_run_index(const std::filesystem::path& folder, const RunIndex& index);
// Adds to the content of other recorders; their entries for the same files are replaced.
Status merge_run_index(const std::filesystem::path& folder, const RunIndex& index);

}  // namespace dprof::recorder
