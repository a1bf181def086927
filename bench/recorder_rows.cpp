// SPDX-License-Identifier: Apache-2.0
// How many rows a second one writer thread of the recorder takes from a process's rings into
// SQLite. Goal: 1 M rows/s (architecture 4.4). Each row is a range: two records, one look-up of its
// name.
//
//   recorder_rows [--rows N]     rows a second, of ranges
//   recorder_rows --bytes        bytes that a range, a kernel and a collective take in the trace
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collector/recorder/drain.h"
#include "collector/recorder/test_support/fake_process.h"
#include "collector/wire/gpu_records.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int64_t kRows = 2'000'000;
constexpr int kRounds = 5;
constexpr uint32_t kSlotsPerPass = wire::kRingSlots / 2;
constexpr int kNames = 200;
constexpr wire::TickScale kNsScale = {
    .tick0 = 0, .multiplier = 1, .shift = 0, .source = wire::ClockSource::kMonotonic};

// Rows per second of one round, the producer's share of the time left out.
double one_round(const fs::path& file, int64_t rows_wanted) {
  fs::remove(file);
  FakeProcess process(kNsScale);
  const RunClock clock(kNsScale);
  const std::unique_ptr<TraceOutput> output = *TraceOutput::create(file);
  Drain drain(process.mapping(), clock, 100, *output);
  wire::RingWriter ring = process.open_ring(0, 100);
  std::vector<uint32_t> names;
  for (int i = 0; i < kNames; ++i) names.push_back(process.text(fmt::format("aten::op_{}", i)));

  uint64_t ticks = 1000;
  int64_t rows = 0;
  Clock::duration taken{};
  while (rows < rows_wanted) {
    for (uint32_t slots = 0; slots + 4 <= kSlotsPerPass; slots += 4) {
      const uint32_t name = names[static_cast<size_t>(rows) % names.size()];
      ring.push(range_begin(name, ticks += 100, 0));
      ring.push(range_begin(name, ticks += 100, 2));
      ring.push(range_end(ticks += 300, 2));
      ring.push(range_end(ticks += 100, 0));
      rows += 2;
    }
    const Clock::time_point start = Clock::now();
    drain.pass();
    if (drain.pending() > 32768) drain.flush();
    taken += Clock::now() - start;
  }
  const Clock::time_point start = Clock::now();
  drain.finish(false);
  static_cast<void>(output->finish());
  taken += Clock::now() - start;
  const double seconds = std::chrono::duration<double>(taken).count();
  if (drain.totals().lost != 0 || drain.totals().events != rows) {
    fmt::print(stderr, "recorder_rows: {} of {} rows, {} lost\n", drain.totals().events, rows,
               drain.totals().lost);
    std::exit(1);
  }
  return static_cast<double>(rows) / seconds;
}

// One process whose ticks are nanoseconds, and its trace.
class Bytes {
 public:
  static constexpr int64_t kEvents = 400'000;

  // Bytes of the file per event of what `write_one(ring, name, number)` writes in `slots` slots;
  // nullopt when it made no rows.
  template <typename WriteOne>
  std::optional<double> per_event(int64_t slots, std::string_view name, WriteOne&& write_one) {
    const fs::path file = fs::temp_directory_path() / "dprof-bench-recorder-bytes.dprof";
    fs::remove(file);
    FakeProcess process(kNsScale);
    const RunClock clock(kNsScale);
    std::unique_ptr<TraceOutput> output = *TraceOutput::create(file);
    Drain drain(process.mapping(), clock, 100, *output);
    wire::RingWriter ring = process.open_ring(0, 100);
    std::vector<uint32_t> names;
    for (int i = 0; i < kNames; ++i) {
      names.push_back(process.text(fmt::format(fmt::runtime(name), i)));
    }
    for (int64_t i = 0; i < kEvents; ++i) {
      write_one(ring, names[static_cast<size_t>(i) % names.size()], i);
      if (i * slots % kSlotsPerPass < slots) {
        drain.pass();
        drain.flush();
      }
    }
    drain.finish(false);
    static_cast<void>(output->finish());
    const DrainTotals totals = drain.totals();
    output.reset();
    const auto bytes = static_cast<double>(fs::file_size(file));
    fs::remove(file);
    if (totals.lost != 0 || totals.events < kEvents) return std::nullopt;
    return bytes / static_cast<double>(kEvents);
  }

  // Times as a step of training has them: microseconds apart, tens of microseconds long.
  static uint64_t start_of(int64_t number) {
    return 1'000'000 + static_cast<uint64_t>(number) * 20'000;
  }
};

std::string text_of(std::optional<double> bytes) {
  return bytes ? fmt::format("{:.1f}", *bytes) : "null";
}

void print_bytes() {
  Bytes bytes;
  const auto range =
      bytes.per_event(2, "aten::op_{}", [](wire::RingWriter& ring, uint32_t name, int64_t number) {
        const uint64_t start = Bytes::start_of(number);
        ring.push(range_begin(name, start, 0));
        ring.push(range_end(start + 9'876, 0));
      });
  const auto kernel = bytes.per_event(1, "void kernel_{}<float>(float*)",
                                      [](wire::RingWriter& ring, uint32_t name, int64_t number) {
                                        const uint64_t start = Bytes::start_of(number);
                                        wire::Record record{};
                                        record.kind = wire::Kind::kGpuActivity;
                                        record.slots = 1;
                                        record.string = name;
                                        record.ticks = start + 15'000;
                                        wire::GpuActivity activity{};
                                        activity.start_ns = static_cast<int64_t>(start);
                                        activity.end_ns = static_cast<int64_t>(start) + 9'876;
                                        activity.correlation = static_cast<uint32_t>(number) + 1;
                                        activity.stream = 7;
                                        wire::set_body(record, activity);
                                        ring.push(record);
                                      });
  const auto collective = bytes.per_event(
      3, "gloo:all_reduce", [](wire::RingWriter& ring, uint32_t name, int64_t number) {
        const uint64_t start = Bytes::start_of(number);
        ring.push(collective_enqueue(name, start, 77, 0));
        ring.push(collective_edge(wire::Kind::kCollectiveBegin, name, start + 2'000, 5));
        ring.push(collective_edge(wire::Kind::kCollectiveEnd, 0, start + 12'000, 5));
      });
  fmt::print(
      "{{\"name\": \"trace_bytes\", \"host_range\": {}, \"kernel\": {}, \"collective\": {}}}\n",
      text_of(range), text_of(kernel), text_of(collective));
}

}  // namespace
}  // namespace dprof::recorder

int main(int argc, char** argv) {
  using namespace dprof::recorder;
  if (argc == 2 && std::string_view(argv[1]) == "--bytes") {
    print_bytes();
    return 0;
  }
  const bool given = argc == 3 && std::string_view(argv[1]) == "--rows";
  const int64_t rows = given ? std::atoll(argv[2]) : kRows;
  const fs::path file = fs::temp_directory_path() / "dprof-bench-recorder-rows.dprof";
  double best = 0;
  for (int i = 0; i < kRounds; ++i) best = std::max(best, one_round(file, rows));
  const auto bytes = static_cast<double>(fs::file_size(file));
  fs::remove(file);
  fmt::print("{{\"name\": \"recorder_rows\", \"rows_per_s\": {:.0f}, \"bytes_per_row\": {:.1f}}}\n",
             best, bytes / static_cast<double>(rows));
  return 0;
}
