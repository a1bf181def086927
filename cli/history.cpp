// SPDX-License-Identifier: Apache-2.0
#include "cli/history.h"

#include <fmt/format.h>

#include <algorithm>

namespace dprof::cli {
namespace {

namespace fs = std::filesystem;

bool holds_traces(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".dprof") return true;
  }
  return false;
}

}  // namespace

bool is_history(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) && !holds_traces(path);
}

Result<std::vector<fs::path>> history_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path& path = entry->path();
    std::error_code ignored;
    if (path.extension() == ".json" || (fs::is_directory(path, ignored) && holds_traces(path)))
      entries.push_back(path);
  }
  if (error) {
    return fail(Code::kNotFound, fmt::format("{}: {}", folder.string(), error.message()),
                "`dprof baseline add DIR RUN` makes the folder");
  }
  std::ranges::sort(entries);
  return entries;
}

}  // namespace dprof::cli
