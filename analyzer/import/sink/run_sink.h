// SPDX-License-Identifier: Apache-2.0
// The run made by an import: a folder that appears complete, or not at all.
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
// Threading  one thread, except for `file`, which any thread can call.
class RunSink {
 public:
  // Refuses (kUsage) a folder with a run, unless `overwrite`: then that run's files, and no others,
  // are replaced at the very end.
  static Result<std::unique_ptr<RunSink>> create(const std::filesystem::path& run, bool overwrite);
  ~RunSink();  // removes everything, unless finish() succeeded

  // The sink for the `number`th file.
  [[nodiscard]] std::unique_ptr<FileSink> file(size_t number, const std::filesystem::path& path,
                                               std::string_view format,
                                               const ImportProgress& progress) const;
  // In the order of the files.
  void add(FileResult result);
  // Gives ranks to traces without one (to all of them from `ranks`, if not empty), writes run.json,
  // puts the folder in its place. kUsage: the number of `ranks` is not that of the traces.
  Result<ImportSummary> finish(const std::vector<int>& ranks = {});

 private:
  struct Impl;
  explicit RunSink(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dprof::analyzer
