// SPDX-License-Identifier: Apache-2.0
// The run that an import makes: a folder that appears whole, or not at all.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/import/import.h"
#include "analyzer/import/sink/file_sink.h"
#include "base/result.h"

namespace dprof::analyzer {

// Traces are written into a hidden folder beside RUN, which is renamed at the end; a failure
// removes it.
//
// Threading  one thread, `file` apart, which any may call.
class RunSink {
 public:
  // Refuses (kUsage) a folder that holds a run, unless `overwrite`: then that run's files are
  // replaced at the very end, and no others.
  static Result<std::unique_ptr<RunSink>> create(const std::filesystem::path& run, bool overwrite);
  ~RunSink();  // leaves nothing behind, unless finish() was good

  // What the `number`th file becomes.
  [[nodiscard]] std::unique_ptr<FileSink> file(size_t number, const std::filesystem::path& path,
                                               std::string_view format,
                                               const ImportProgress& progress) const;
  // In the order in which the files were given.
  void add(FileResult result);
  // Gives ranks to traces that have none (to all of them: `ranks`, if there are any), writes
  // run.json, puts the folder in its place. kUsage: `ranks` are not as many as the traces.
  Result<ImportSummary> finish(const std::vector<int>& ranks = {});

 private:
  struct Impl;
  explicit RunSink(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dprof::analyzer
