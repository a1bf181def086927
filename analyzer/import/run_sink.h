// SPDX-License-Identifier: Apache-2.0
// The run that an import makes: a folder that appears whole, or not at all.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/import/import.h"
#include "analyzer/import/trace_sink.h"
#include "base/result.h"

namespace dprof::analyzer {

// Traces are written into a hidden folder beside RUN, which is renamed at the end; a failure
// removes it. The files are read one after the other, so that one file's rows are in memory at a
// time.
//
// Threading  one thread.
class RunSink {
 public:
  // Refuses (kUsage) a folder that holds a run, unless `overwrite`: then that run's files are
  // replaced at the very end, and no others.
  static Result<std::unique_ptr<RunSink>> create(const std::filesystem::path& run, bool overwrite);
  ~RunSink();  // leaves nothing behind, unless finish() was good

  // --- for import.cpp ---
  void begin_file(const std::filesystem::path& path, std::string_view format,
                  const ImportProgress& progress);
  // Writes what the file's traces hold; `read` is what the format returned: after a failure its
  // traces are dropped. The file is listed in the summary if it gave anything.
  Status end_file(const Status& read);
  // Forgets the file: it lay in a folder, and is something else.
  Status drop_file();
  // Gives ranks to traces that have none, writes run.json, puts the folder in its place.
  Result<ImportSummary> finish();

  // --- for formats ---
  // A trace of the current file; lives until the format returns.
  Result<TraceSink*> open_trace();
  // The current file could not be read whole; what came before is used. Exit code 3.
  void damaged(std::string_view what);
  // Tell now and then (0…1 of the file); false: cancelled, return cancelled().
  bool progress(double share);
  [[nodiscard]] static Status cancelled();

 private:
  struct Impl;
  explicit RunSink(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dprof::analyzer
