// SPDX-License-Identifier: Apache-2.0
// Fuzz target: an operation table from its first byte to a finished run folder.
// operation_table_fuzz_test.cpp also calls it with changed, cut and random input.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "analyzer/import/import.h"
#include "analyzer/run/run.h"
#include "base/check.h"
#include "schema/trace_reader.h"
#include "tests/support/temporary_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace fs = std::filesystem;
  static const dprof::test_support::TemporaryFolder folder;
  const fs::path file = folder.path() / "input";
  const fs::path run = folder.path() / "run";
  std::ofstream(file, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const dprof::Result<dprof::analyzer::ImportSummary> summary =
      dprof::analyzer::import_files({file}, run, {.overwrite = true});
  if (!summary.ok()) {
    DPROF_CHECK(!summary.error().what.empty());
    return 0;
  }
  // What was written are traces of as many ranks as are told.
  const dprof::Result<dprof::analyzer::Run> opened = dprof::analyzer::open_run({run});
  DPROF_CHECK(opened.ok());
  size_t ranks = 0;
  for (const dprof::analyzer::ImportedFile& imported : summary->files)
    ranks += imported.ranks.size();
  DPROF_CHECK(opened->traces.size() == ranks);
  for (const dprof::analyzer::TraceFile& trace : opened->traces)
    DPROF_CHECK(dprof::schema::TraceReader::open(trace.path).ok());
  return 0;
}
