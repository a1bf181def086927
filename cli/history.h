// SPDX-License-Identifier: Apache-2.0
// A folder of baselines: reports as JSON, named by the time they were added.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace dprof::cli {

// True if it is a folder without traces of its own.
[[nodiscard]] bool is_history(const std::filesystem::path& path);

// Its reports, and run folders in it, oldest first.
Result<std::vector<std::filesystem::path>> history_entries(const std::filesystem::path& folder);

}  // namespace dprof::cli
