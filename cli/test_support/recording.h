// SPDX-License-Identifier: Apache-2.0
// What tests of `dprof record` start, and what they look at.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/test_support/process.h"

namespace dprof::cli {

inline const std::string kWriter = std::string(DPROF_TEST_BIN_DIR) + "/recorder_writer";

// dprof record ARGS… -- WRITER ACTIONS…
inline std::vector<std::string> record(std::vector<std::string> arguments,
                                       const std::vector<std::string>& actions) {
  arguments.insert(arguments.begin(), "record");
  arguments.emplace_back("--");
  arguments.push_back(kWriter);
  arguments.insert(arguments.end(), actions.begin(), actions.end());
  return arguments;
}

inline std::vector<std::string> shell(std::vector<std::string> arguments,
                                      const std::string& script) {
  arguments.insert(arguments.begin(), "record");
  for (const char* word : {"--", "/bin/sh", "-c"}) arguments.emplace_back(word);
  arguments.push_back(script);
  return arguments;
}

inline std::vector<std::string> files_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const std::filesystem::directory_entry& entry :
       std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

inline nlohmann::json index_of(const std::filesystem::path& run) {
  return nlohmann::json::parse(text_of(run / "run.json"));
}

}  // namespace dprof::cli
