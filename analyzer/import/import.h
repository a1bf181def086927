// SPDX-License-Identifier: Apache-2.0
// Converts foreign recordings to ordinary traces. The format is found by content, as is the rank;
// unusable rows are counted as a loss (reason skipped_row), never dropped silently.
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
  bool overwrite = false;  // replace an existing run in the folder
  // Ranks of the traces in the order of the files (within a file: of their ranks or devices),
  // overriding the files' own; empty = use the files' ranks.
  std::vector<int> ranks;
};

struct ImportedFile {
  std::filesystem::path path;
  std::string format;      // kineto, chrome, flight_recorder, nccl_inspector, …
  std::vector<int> ranks;  // ranks with rows in it
  int64_t rows = 0;        // written
  int64_t skipped = 0;     // in the file, but not written
};

struct ImportSummary {
  std::vector<ImportedFile> files;
  std::vector<Diagnostic> diagnostics;
  bool damaged = false;  // a file was only partly readable: exit code 3
};

// Called occasionally with the file and 0…1, by one thread at a time; return false to cancel.
using ImportProgress = std::function<bool(const std::filesystem::path& file, double share)>;

// Makes the run folder `run` from `files` (folders: all files in them), several at once: one per
// core, at most four. Fails if none is readable, and then leaves no folder behind.
Result<ImportSummary> import_files(const std::vector<std::filesystem::path>& files,
                                   const std::filesystem::path& run,
                                   const ImportOptions& options = {},
                                   const ImportProgress& progress = {});

// Adds the contents of `files` to the traces of the same ranks in a recorded run, aligned by the
// wall clock: memory snapshots, flight-recorder dumps and files of NCCL's Inspector. Adds all or
// (with a reason) nothing: copies of the traces are changed, and replace them at the very end.
Result<ImportSummary> add_files(const std::vector<std::filesystem::path>& files,
                                const std::filesystem::path& run, const ImportOptions& options = {},
                                const ImportProgress& progress = {});

}  // namespace dprof::analyzer
