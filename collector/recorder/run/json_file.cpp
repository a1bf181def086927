// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/run/json_file.h"

#include <fstream>

#include "collector/recorder/common/file_system.h"

namespace dprof::recorder {

using nlohmann::ordered_json;

ordered_json read_json(const std::filesystem::path& path) {
  wait_as_slow_file_system();
  std::ifstream file(path);
  return ordered_json::parse(file, nullptr, false);
}

Status write_json(const std::filesystem::path& path, const ordered_json& json, FileAccess access,
                  const char* hint) {
  const std::string text = json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  return replace_file(path, text, access, hint);
}

}  // namespace dprof::recorder
