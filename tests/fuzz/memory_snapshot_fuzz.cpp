// SPDX-License-Identifier: Apache-2.0
// Fuzz target: a snapshot of PyTorch's allocator from its first byte to a finished run folder.
#include <map>
#include <optional>

#include "tests/fuzz/import_input.h"

namespace {

using dprof::schema::MemoryEventKind;

struct Level {
  int64_t allocated = 0;
  int64_t reserved = 0;
};

// Whatever the file said: its events lead to its final state, to the byte.
void check_replay(const std::filesystem::path& run) {
  const auto trace = dprof::schema::TraceReader::open(run / "rank-00000.dprof");
  DPROF_CHECK(trace.ok());
  std::map<int64_t, Level> levels;
  DPROF_CHECK(trace
                  ->for_each<dprof::schema::MemoryEventRow>([&](const auto& row) {
                    Level& level = levels[row.device_id];
                    if (row.kind == MemoryEventKind::kAlloc) level.allocated += row.bytes;
                    if (row.kind == MemoryEventKind::kFree) level.allocated -= row.bytes;
                    if (row.kind == MemoryEventKind::kSegmentAlloc) level.reserved += row.bytes;
                    if (row.kind == MemoryEventKind::kSegmentFree) level.reserved -= row.bytes;
                    DPROF_CHECK(row.allocated_bytes == level.allocated);
                    DPROF_CHECK(row.reserved_bytes == level.reserved);
                  })
                  .ok());
  DPROF_CHECK(trace
                  ->for_each<dprof::schema::MemorySampleRow>([&](const auto& row) {
                    DPROF_CHECK(row.allocated_bytes == levels[row.device_id].allocated);
                    DPROF_CHECK(row.reserved_bytes == levels[row.device_id].reserved);
                  })
                  .ok());
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return dprof::fuzz::import_input(data, size, [](const auto& run, const auto& summary) {
    for (const auto& file : summary.files) {
      if (file.format != "memory_snapshot") continue;
      dprof::fuzz::check_losses(run, file);
      check_replay(run);
    }
  });
}
