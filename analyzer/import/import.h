// SPDX-License-Identifier: Apache-2.0
// Foreign recordings become ordinary traces. The format is found by content, the rank too; what
// cannot be used is counted as a loss (reason skipped_row), never dropped in silence.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/vocabulary/diagnostic.h"
#include "base/result.h"

namespace dprof::analyzer {

struct ImportOptions {
  bool overwrite = false;  // replace the run that is in the folder
  // Of the traces in the order of the files (of a file with several: of their ranks or devices),
  // whatever the files say; empty = what they say.
  std::vector<int> ranks;
};

struct ImportedFile {
  std::filesystem::path path;
  std::string format;      // kineto, chrome, flight_recorder, nccl_inspector, …
  std::vector<int> ranks;  // that it had rows of
  int64_t rows = 0;        // written
  int64_t skipped = 0;     // in the file and not written
};

struct ImportSummary {
  std::vector<ImportedFile> files;
  std::vector<Diagnostic> diagnostics;
  bool damaged = false;  // a file could not be read whole: exit code 3
};

// Called now and then with the file and 0…1, by one thread at a time; false cancels.
using ImportProgress = std::function<bool(const std::filesystem::path& file, double share)>;

// Makes the run folder `run` from `files` (folders: all files in them), several of them at once, as
// there are cores, at most four. Fails if none is readable, and then leaves no folder behind.
Result<ImportSummary> import_files(const std::vector<std::filesystem::path>& files,
                                   const std::filesystem::path& run,
                                   const ImportOptions& options = {},
                                   const ImportProgress& progress = {});

// Adds what `files` hold to the traces of the same ranks of a recorded run, by the wall clock:
// memory snapshots, flight-recorder dumps and files of NCCL's Inspector. All of it, or (with a
// reason) nothing: the traces are changed as copies, which take their places at the very end.
Result<ImportSummary> add_files(const std::vector<std::filesystem::path>& files,
                                const std::filesystem::path& run, const ImportOptions& options = {},
                                const ImportProgress& progress = {});

}  // namespace dprof::analyzer
