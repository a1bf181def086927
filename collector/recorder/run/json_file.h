// SPDX-License-Identifier: Apache-2.0
// Small JSON files of a run folder.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "collector/recorder/common/atomic_file.h"

namespace dprof::recorder {

// Discarded (not an object) if the file is missing or not JSON.
[[nodiscard]] nlohmann::ordered_json read_json(const std::filesystem::path& path);
Status write_json(const std::filesystem::path& path, const nlohmann::ordered_json& json,
                  FileAccess access, const char* hint);

}  // namespace dprof::recorder
