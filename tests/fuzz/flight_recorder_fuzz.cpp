// SPDX-License-Identifier: Apache-2.0
// Fuzz target: dumps of the flight recorder, as pickle or as JSON. flight_recorder_fuzz_test.cpp
// also calls it with bounded random input.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analyzer/import/flight_recorder/dump.h"
#include "base/check.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dprof::analyzer;
  using namespace dprof::analyzer::flight_recorder;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const auto read : {read_pickle, read_json}) {
    const dprof::Result<PlainData> plain = read(bytes);
    if (!plain.ok()) {
      DPROF_CHECK(!plain.error().what.empty());
      continue;
    }
    const dprof::Result<Dump> dump = dump_of(*plain);
    if (!dump.ok()) continue;
    for (const DumpEntry& entry : dump->entries) {
      DPROF_CHECK(entry.group < dump->groups.size());
      DPROF_CHECK(!entry.count || *entry.count >= 0);
      DPROF_CHECK(!entry.bytes || *entry.bytes >= 0);
    }
  }
  return 0;
}
