// SPDX-License-Identifier: Apache-2.0
// What one record costs the writing thread: read the clock, fill 64 bytes, push. Another thread
// drains the ring as the recorder does. Prints one JSON object; all times in nanoseconds.
//
//   ring_write [--records N] [--rate PER_SECOND] [--poll-ms MS]
//
// Each push is timed by two readings of the TSC, so a figure includes one such reading; "clock_ns"
// is its cost on this machine. Pushes are paced as in a training process: otherwise the ring would
// only fill up.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/tick_times.h"
#include "collector/wire/arena.h"
#include "collector/wire/ring.h"
#include "collector/wire/ticks.h"

namespace {

using namespace dprof;
using namespace dprof::bench;
using Clock = std::chrono::steady_clock;

struct Settings {
  uint64_t records = 500'000;
  uint64_t rate = 500'000;
  uint64_t poll_ms = 5;
};

struct Measured {
  std::vector<uint32_t> times;  // ticks, sorted
  uint64_t drained = 0;
  uint64_t dropped = 0;
};

Measured measure(const wire::Mapping& mapping, const Settings& settings, double ticks_per_ns) {
  Measured result;
  result.times.reserve(settings.records);
  std::atomic<bool> done = false;
  std::thread recorder([&] {
    wire::RingReader reader(mapping.ring(0), mapping.slots(0));
    const auto visit = [&](const wire::ReadRecord& read) {
      result.drained += read.record.kind == wire::Kind::kRangeBegin ? 1 : 0;
    };
    while (!done.load()) {
      reader.drain(visit);
      std::this_thread::sleep_for(std::chrono::milliseconds(settings.poll_ms));
    }
    reader.drain(visit);
  });
  wire::RingWriter writer(mapping.ring(0), mapping.slots(0), mapping.control());
  const auto gap = static_cast<uint64_t>(1e9 * ticks_per_ns / static_cast<double>(settings.rate));
  uint64_t due = ticks();
  for (uint64_t i = 0; i < settings.records; ++i) {
    while (ticks() < due) {
    }
    due += gap;
    const uint64_t from = ticks();
    wire::Record record{};
    record.kind = wire::Kind::kRangeBegin;
    record.slots = 1;
    record.string = 7;
    record.range_begin = {};
    record.range_begin.sequence = static_cast<int64_t>(i);
    record.ticks = ticks();
    writer.push(record);
    result.times.push_back(static_cast<uint32_t>(ticks() - from));
  }
  done.store(true);
  recorder.join();
  result.dropped = mapping.ring(0)->dropped.count.load();
  std::sort(result.times.begin(), result.times.end());
  return result;
}

bool parse(int argc, char** argv, Settings& settings) {
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    const uint64_t value = i + 1 < argc ? strtoull(argv[i + 1], nullptr, 10) : 0;
    if (value == 0) return false;
    if (option == "--records") {
      settings.records = value;
    } else if (option == "--rate") {
      settings.rate = value;
    } else if (option == "--poll-ms") {
      settings.poll_ms = value;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (!parse(argc, argv, settings)) {
    fprintf(stderr, "usage: ring_write [--records N] [--rate PER_SECOND] [--poll-ms MS]\n");
    return 2;
  }
  void* base = mmap(nullptr, wire::kTotalBytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return 1;
  wire::Mapping mapping;
  mapping.base = static_cast<unsigned char*>(base);
  memset(static_cast<void*>(mapping.slots(0)), 0, wire::kRingBytes);  // pages first
  const double ticks_per_ns = measure_tick_rate();
  std::vector<uint32_t> clock = time_clock(settings.records);
  Measured result = measure(mapping, settings, ticks_per_ns);
  printf(
      "{\"bench\": \"ring_write\", \"records\": %llu, \"rate_per_s\": %llu, \"poll_ms\": %llu,\n"
      " \"clock_ns\": %.1f, \"p50_ns\": %.1f, \"p99_ns\": %.1f, \"max_ns\": %.0f,\n"
      " \"drained\": %llu, \"dropped\": %llu, \"budget_p50_ns\": 60}\n",
      static_cast<unsigned long long>(settings.records),
      static_cast<unsigned long long>(settings.rate),
      static_cast<unsigned long long>(settings.poll_ms), percentile(clock, 0.5, ticks_per_ns),
      percentile(result.times, 0.5, ticks_per_ns), percentile(result.times, 0.99, ticks_per_ns),
      percentile(result.times, 1.0, ticks_per_ns), static_cast<unsigned long long>(result.drained),
      static_cast<unsigned long long>(result.dropped));
  return result.drained + result.dropped == settings.records ? 0 : 1;
}
