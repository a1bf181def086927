// SPDX-License-Identifier: Apache-2.0
// Fuzz target: records of NCCL's Inspector. nccl_inspector_fuzz_test.cpp also calls it with bounded
// random input.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analyzer/import/nccl_inspector/records.h"
#include "base/check.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dprof::analyzer::nccl_inspector;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (true) {
    const size_t before = rest.size();
    const auto object = next_object(rest);
    if (!object || object->empty()) break;
    DPROF_CHECK(rest.size() < before);
    const dprof::Result<Record> record = record_of(*object);
    if (!record.ok()) continue;
    DPROF_CHECK(record->rank >= 0 && record->rank < record->ranks);
    DPROF_CHECK(record->duration_ns >= 0);
    DPROF_CHECK(!input_bytes(*record) || *input_bytes(*record) >= 0);
  }
  return 0;
}
