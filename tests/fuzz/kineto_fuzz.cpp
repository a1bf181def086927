// SPDX-License-Identifier: Apache-2.0
// Fuzz target: a Chrome JSON file from its first byte to a finished run folder.
// kineto_fuzz_test.cpp also calls it with mutated and random input.
#include <algorithm>
#include <string>

#include "tests/fuzz/import_input.h"

namespace {

namespace fs = std::filesystem;

// What was written is a trace; every row that the summary counts is in it.
void check_trace(const fs::path& run, const dprof::analyzer::ImportedFile& file) {
  using namespace dprof::schema;
  DPROF_CHECK(file.ranks.size() == 1);
  const std::string name = std::to_string(file.ranks[0]);
  const fs::path path =
      run / ("rank-" + std::string(5 - std::min<size_t>(5, name.size()), '0') + name + ".dprof");
  const dprof::Result<TraceReader> trace = TraceReader::open(path);
  DPROF_CHECK(trace.ok());
  int64_t rows = 0;
  for (const char* table :
       {"host_range", "gpu_activity", "gpu_dependency", "memory_event", "collective", "step"}) {
    const dprof::Result<int64_t> count = trace->count(table);
    DPROF_CHECK(count.ok());
    rows += *count;
  }
  DPROF_CHECK(rows >= file.rows);  // what was put together from rows at the end comes on top
  int64_t lost = 0;
  DPROF_CHECK(trace->for_each<LossRow>([&](const LossRow& row) { lost += row.count; }).ok());
  DPROF_CHECK(lost == file.skipped);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return dprof::fuzz::import_input(data, size, [](const fs::path& run, const auto& summary) {
    for (const dprof::analyzer::ImportedFile& imported : summary.files)
      if (imported.format == "kineto" || imported.format == "chrome") check_trace(run, imported);
  });
}
