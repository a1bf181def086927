// SPDX-License-Identifier: Apache-2.0
// The output for one foreign file: traces in the run's hidden folder.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/import/import.h"
#include "analyzer/import/sink/trace_sink.h"
#include "base/result.h"

namespace dprof::analyzer {

// A written trace, and its origin.
struct Written {
  std::filesystem::path path;  // in the hidden folder
  std::filesystem::path from;  // the foreign file
  std::optional<int> rank;
  std::optional<int> world_size;
  std::string host;
  bool cut = false;
};

// One file's part of the run.
struct FileResult {
  std::vector<Written> traces;
  std::optional<ImportedFile> file;  // nullopt: without usable data
  std::vector<Diagnostic> diagnostics;
  bool damaged = false;
};

// Threading  one thread; several files can be read at once, each into its own sink.
class FileSink {
 public:
  // Traces are `folder`/NAME-1.dprof and so on.
  struct Place {
    std::filesystem::path folder;
    std::string name;
    std::string run_id;
  };
  FileSink(Place place, std::filesystem::path path, std::string_view format,
           ImportProgress progress);
  ~FileSink();

  // --- for formats ---
  // A trace of this file; lives until the format returns.
  Result<TraceSink*> open_trace();
  // Folder for temporary files of a format; they must be deleted before it returns.
  [[nodiscard]] const std::filesystem::path& folder() const;
  // The file was only partly readable; the part before is used. Exit code 3.
  void damaged(std::string_view what);
  // Call occasionally (0…1 of the file); false: cancelled, return cancelled().
  bool progress(double share);
  [[nodiscard]] static Status cancelled();

  // --- for import.cpp ---
  // Writes the file's traces; `read` is the format's result: after a failure its traces are
  // dropped.
  Result<FileResult> finish(const Status& read);
  // Discards the file: it was found in a folder, and is something else.
  void drop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dprof::analyzer
