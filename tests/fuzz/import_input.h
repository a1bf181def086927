// SPDX-License-Identifier: Apache-2.0
// A fuzz target's input from its first byte to a finished run folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "analyzer/import/import.h"
#include "base/check.h"
#include "schema/trace_reader.h"
#include "tests/support/temporary_folder.h"

namespace dprof::fuzz {

// Calls check(run, summary) if it could be imported; returns what a target returns.
template <typename Check>
int import_input(const uint8_t* data, size_t size, const Check& check) {
  namespace fs = std::filesystem;
  static const test_support::TemporaryFolder kFolder;
  const fs::path file = kFolder.path() / "input";
  const fs::path run = kFolder.path() / "run";
  std::ofstream(file, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const Result<analyzer::ImportSummary> summary =
      analyzer::import_files({file}, run, {.overwrite = true, .ranks = {}});
  if (summary.ok()) {
    check(run, *summary);
  } else {
    DPROF_CHECK(!summary.error().what.empty());
  }
  return 0;
}

// What was written are traces; every row that was skipped is counted in them.
inline void check_losses(const std::filesystem::path& run, const analyzer::ImportedFile& file) {
  int64_t lost = 0;
  for (const auto& entry : std::filesystem::directory_iterator(run)) {
    if (entry.path().extension() != ".dprof") continue;
    const Result<schema::TraceReader> trace = schema::TraceReader::open(entry.path());
    DPROF_CHECK(trace.ok());
    DPROF_CHECK(
        trace->for_each<schema::LossRow>([&](const schema::LossRow& row) { lost += row.count; })
            .ok());
  }
  DPROF_CHECK(lost == file.skipped);
}

}  // namespace dprof::fuzz
