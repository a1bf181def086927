// SPDX-License-Identifier: Apache-2.0
// What one foreign file becomes: traces in the run's hidden folder.
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

// A trace that is written, and where it will stand.
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
  std::optional<ImportedFile> file;  // nullopt: it gave nothing
  std::vector<Diagnostic> diagnostics;
  bool damaged = false;
};

// Threading  one thread; several files may be read at once, each into a sink of its own.
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
  // Where a format may put a file that it needs while it reads; it must be gone when it returns.
  [[nodiscard]] const std::filesystem::path& folder() const;
  // The file could not be read whole; what came before is used. Exit code 3.
  void damaged(std::string_view what);
  // Tell now and then (0…1 of the file); false: cancelled, return cancelled().
  bool progress(double share);
  [[nodiscard]] static Status cancelled();

  // --- for import.cpp ---
  // Writes what the file's traces hold; `read` is what the format returned: after a failure its
  // traces are dropped.
  Result<FileResult> finish(const Status& read);
  // Forgets the file: it lay in a folder, and is something else.
  void drop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dprof::analyzer
