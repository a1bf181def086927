// SPDX-License-Identifier: Apache-2.0
// Runs that were opened before, as the user's settings keep them.
#pragma once

#include <filesystem>
#include <vector>

namespace dprof::widgets {

// The origin of a run: a folder, or files.
using RunPaths = std::vector<std::filesystem::path>;

inline constexpr size_t kMostRecentRuns = 8;

// Those that are still there, the last one first.
[[nodiscard]] std::vector<RunPaths> recent_runs();
void remember_run(const RunPaths& paths);

}  // namespace dprof::widgets
