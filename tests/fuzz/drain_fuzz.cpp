// SPDX-License-Identifier: Apache-2.0
// Fuzz target: the whole way from untrusted shared memory to SQLite. libFuzzer's entry, which
// drain_fuzz_test.cpp also calls with bounded random input, so that it runs with every compiler.
#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/check.h"
#include "collector/recorder/rows/drain.h"
#include "collector/recorder/test_support/fake_process.h"

namespace dprof::recorder {
namespace {

constexpr wire::TickScale kNsScale = {
    .tick0 = 0, .multiplier = 1, .shift = 0, .source = wire::ClockSource::kMonotonic};
constexpr uint32_t kRings = 4;
constexpr size_t kArenaInput = 256;
constexpr size_t kShape = 32;  // bytes that shape the directory: heads, status, counters

// The input lies where a process would have written it: first the words of header and directory,
// then the arena, then slots, dealt out over the rings.
void place(const uint8_t* data, size_t size, const wire::Mapping& mapping) {
  uint64_t shape[kShape / sizeof(uint64_t)] = {};
  const size_t shaped = std::min(size, kShape);
  std::copy_n(data, shaped, reinterpret_cast<uint8_t*>(shape));  // memcpy wants no null pointer
  data += shaped;
  size -= shaped;
  const size_t arena = std::min(size, kArenaInput);
  std::copy_n(data, arena, mapping.arena() + wire::kArenaUnit);
  mapping.header()->arena_used.store(shape[0] % 3 == 0 ? shape[0] : kArenaInput);
  mapping.header()->rings_taken.store(static_cast<uint32_t>(shape[1] % 5 == 0 ? shape[1] : kRings));
  data += arena;
  size -= arena;
  for (uint32_t ring = 0; ring < kRings; ++ring) {
    const size_t slots =
        std::min<size_t>(size / wire::kSlotBytes / (kRings - ring), wire::kRingSlots);
    std::copy_n(data, slots * wire::kSlotBytes, reinterpret_cast<uint8_t*>(mapping.slots(ring)));
    data += slots * wire::kSlotBytes;
    size -= slots * wire::kSlotBytes;
    wire::RingShared& shared = *mapping.ring(ring);
    shared.head.store(shape[2] % 7 == ring ? shape[2] : slots);
    shared.status.store(static_cast<uint32_t>(shape[3] >> (8 * ring)) & 3);
    shared.os_tid.store(100 + ring);
    shared.dropped.count.store(shape[3] % 11 == ring ? shape[3] : 0);
  }
}

}  // namespace
}  // namespace dprof::recorder

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dprof::recorder;
  FakeProcess process(kNsScale);
  place(data, size, process.mapping());
  dprof::Result<std::unique_ptr<TraceOutput>> output = TraceOutput::create(":memory:");
  DPROF_CHECK(output.ok());
  const RunClock clock(kNsScale);
  Drain drain(process.mapping(), clock, 100, **output);
  drain.pass();
  drain.flush();
  drain.pass();
  drain.finish(size % 2 == 0);
  const DrainTotals totals = drain.totals();
  DPROF_CHECK(totals.lost >= 0);
  DPROF_CHECK(totals.events <= 2 * totals.records);  // a range of NCCL's is a collective too
  DPROF_CHECK(!(*output)->failure().has_value());
  return 0;
}
