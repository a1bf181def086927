// SPDX-License-Identifier: Apache-2.0
// Commands for tests of `dprof record`, and accessors for the results.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/test_support/process.h"
#include "tests/support/paths.h"

namespace dprof::cli {

inline const std::string kWriter = test_support::test_bin_dir() + "/recorder_writer";

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

// Without digests, which are not part of a recording.
inline std::vector<std::string> files_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const std::filesystem::directory_entry& entry :
       std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename() != ".digest") names.push_back(entry.path().filename());
  }
  return names;
}

inline std::vector<pid_t> children_of(pid_t pid) {
  const std::string id = std::to_string(pid);
  std::ifstream file("/proc/" + id + "/task/" + id + "/children");
  return {std::istream_iterator<pid_t>(file), {}};
}

// The child of a running dprof with this name; 0 while there is none.
inline pid_t child_named(const Running& running, std::string_view name) {
  for (const pid_t child : children_of(running.pid())) {
    std::string comm = text_of("/proc/" + std::to_string(child) + "/comm");
    if (comm == std::string(name) + '\n') return child;
  }
  return 0;
}
inline pid_t recorder_of(const Running& running) { return child_named(running, "dprof-recorder"); }

inline nlohmann::json index_of(const std::filesystem::path& run) {
  return nlohmann::json::parse(text_of(run / "run.json"));
}

}  // namespace dprof::cli
