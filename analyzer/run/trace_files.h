// SPDX-License-Identifier: Apache-2.0
// The traces of a run folder, as files.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"

namespace dprof::analyzer {

// Sorted by name. Fails if there are none, and says where they are if known.
Result<std::vector<std::filesystem::path>> trace_files(const std::filesystem::path& folder);

}  // namespace dprof::analyzer
