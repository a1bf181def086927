// SPDX-License-Identifier: Apache-2.0
// Fuzz target: an operation table from its first byte to a finished run folder.
// operation_table_fuzz_test.cpp also calls it with changed, cut and random input.
#include "analyzer/run/run.h"
#include "tests/fuzz/import_input.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return dprof::fuzz::import_input(data, size, [](const auto& run, const auto& summary) {
    // As many ranks have a trace as are reported.
    const dprof::Result<dprof::analyzer::Run> opened = dprof::analyzer::open_run({run});
    DPROF_CHECK(opened.ok());
    size_t ranks = 0;
    for (const auto& imported : summary.files) ranks += imported.ranks.size();
    DPROF_CHECK(opened->traces.size() == ranks);
    for (const dprof::analyzer::TraceFile& trace : opened->traces)
      DPROF_CHECK(dprof::schema::TraceReader::open(trace.path).ok());
  });
}
