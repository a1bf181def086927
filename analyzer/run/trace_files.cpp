// SPDX-License-Identifier: Apache-2.0
#include "analyzer/run/trace_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/run/left_traces.h"
#include "schema/diagnostics.h"

namespace dprof::analyzer {

namespace fs = std::filesystem;

Result<std::vector<fs::path>> trace_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".dprof") files.push_back(entry->path());
  }
  if (error) return fail(Code::kIo, fmt::format("{}: {}", folder.string(), error.message()));
  if (files.empty()) {
    if (const std::vector<LeftTraces> left = find_left_traces(folder); !left.empty()) {
      return fail(
          Code::kNotFound,
          fmt::format("{}: no trace (*.dprof) in this folder; they are on {}, in {}{}",
                      folder.string(), left.front().host, left.front().folder,
                      left.size() == 1 ? std::string()
                                       : fmt::format(", and on {} disk{} more", left.size() - 1,
                                                     left.size() == 2 ? "" : "s")),
          std::string(schema::diagnostic_kind("traces_left").hint));
    }
    return fail(Code::kNotFound,
                fmt::format("{}: no trace (*.dprof) in this folder", folder.string()),
                "give the folder that `dprof record -o` made");
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace dprof::analyzer
