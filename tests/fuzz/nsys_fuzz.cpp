// SPDX-License-Identifier: Apache-2.0
// Fuzz target: an export of Nsight Systems from its first byte to a finished run folder.
// nsys_fuzz_test.cpp also calls it with bounded random input.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "analyzer/import/import.h"
#include "base/check.h"
#include "schema/trace_reader.h"
#include "tests/support/temporary_folder.h"

namespace {

namespace fs = std::filesystem;

// What was written are traces; every row that was skipped is in them.
void check_run(const fs::path& run, const dprof::analyzer::ImportedFile& file) {
  using namespace dprof::schema;
  int64_t lost = 0;
  for (const auto& entry : fs::directory_iterator(run)) {
    if (entry.path().extension() != ".dprof") continue;
    const dprof::Result<TraceReader> trace = TraceReader::open(entry.path());
    DPROF_CHECK(trace.ok());
    DPROF_CHECK(trace->for_each<LossRow>([&](const LossRow& row) { lost += row.count; }).ok());
  }
  DPROF_CHECK(lost == file.skipped);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
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
  for (const dprof::analyzer::ImportedFile& imported : summary->files) {
    if (imported.format == "nsys") check_run(run, imported);
  }
  return 0;
}
