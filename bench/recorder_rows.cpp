// SPDX-License-Identifier: Apache-2.0
// How many rows a second one writer thread of the recorder takes from a process's rings into
// SQLite. Goal: 1 M rows/s (architecture 4.4). Each row is a range: two records, one look-up of its
// name.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include "collector/recorder/drain.h"
#include "collector/recorder/test_support/fake_process.h"

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

}  // namespace
}  // namespace dprof::recorder

int main(int argc, char** argv) {
  using namespace dprof::recorder;
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
