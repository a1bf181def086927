// SPDX-License-Identifier: Apache-2.0
// How many rows a second one writer thread of the recorder takes from a process's rings into
// SQLite. Goal: 1 M rows/s (docs/design/architecture.md). Each row is a range: two records, one
// look-up of its name.
//
//   recorder_rows [--rows N]     rows a second, of ranges
//   recorder_rows --bytes        bytes that a range, a kernel and a collective take in the trace
//   recorder_rows --read         collectives that the reader makes of a trace, per second of CPU
//   recorder_rows --synchronous MODE FILE
//                                one round with that mode of SQLite, whichever the recorder takes
//                                (bench/synchronous.py compares them)
#include <fmt/format.h>
#include <sqlite3.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collector/recorder/rows/drain.h"
#include "collector/recorder/test_support/fake_process.h"
#include "collector/recorder/test_support/records.h"
#include "collector/wire/gpu_records.h"
#include "collector/wire/nccl_records.h"
#include "schema/trace_reader.h"

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

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// Excludes the producer's share of the time.
struct Round {
  double rows_per_s = 0;
  double wall_s = 0;
  double cpu_s = 0;
  double longest_s = 0;  // in which the rings were not read
  double end_s = 0;      // of the trace
};

Round one_round(const fs::path& file, int64_t rows_wanted) {
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
  Round round;
  const auto timed = [&](auto&& part) {
    const double cpu_before = cpu_seconds();
    const Clock::time_point start = Clock::now();
    part();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    round.cpu_s += cpu_seconds() - cpu_before;
    round.wall_s += seconds;
    return seconds;
  };
  while (rows < rows_wanted) {
    for (uint32_t slots = 0; slots + 4 <= kSlotsPerPass; slots += 4) {
      const uint32_t name = names[static_cast<size_t>(rows) % names.size()];
      ring.push(range_begin(name, ticks += 100, 0));
      ring.push(range_begin(name, ticks += 100, 2));
      ring.push(range_end(ticks += 300, 2));
      ring.push(range_end(ticks += 100, 0));
      rows += 2;
    }
    const double seconds = timed([&] {
      drain.pass();
      if (drain.pending() > 32768) drain.flush();
    });
    round.longest_s = std::max(round.longest_s, seconds);
  }
  round.end_s = timed([&] {
    drain.finish(false);
    static_cast<void>(output->finish());
  });
  if (drain.totals().lost != 0 || drain.totals().events != rows) {
    fmt::print(stderr, "recorder_rows: {} of {} rows, {} lost\n", drain.totals().events, rows,
               drain.totals().lost);
    std::exit(1);
  }
  round.rows_per_s = static_cast<double>(rows) / round.wall_s;
  return round;
}

const char* chosen_mode = nullptr;

// Sets the chosen mode on each connection, and ignores later settings.
int choose_synchronous(sqlite3* database, const char**, const sqlite3_api_routines*) {
  const std::string sql = fmt::format("PRAGMA synchronous = {}", chosen_mode);
  sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr);
  return sqlite3_set_authorizer(
      database,
      [](void*, int action, const char* pragma, const char* value, const char*, const char*) {
        const bool is_other = action == SQLITE_PRAGMA && value != nullptr &&
                              std::string_view(pragma) == "synchronous";
        return is_other ? SQLITE_IGNORE : SQLITE_OK;
      },
      nullptr);
}

void print_synchronous(const char* mode, const fs::path& file) {
  chosen_mode = mode;
  sqlite3_auto_extension(reinterpret_cast<void (*)()>(choose_synchronous));
  const Round round = one_round(file, kRows);
  fs::remove(file);
  fmt::print(
      "{{\"synchronous\": \"{}\", \"cpu_s\": {:.4f}, \"wall_s\": {:.4f}, \"longest_s\": {:.4f}, \"end_s\": {:.4f}}}\n",
      mode, round.cpu_s, round.wall_s, round.longest_s, round.end_s);
}

// Pages of some tables, of a file of ours; nullopt if SQLite was built without `dbstat`.
std::optional<double> bytes_of_tables(const fs::path& file, std::string_view tables) {
  const auto database = schema::Database::open(file, schema::Database::Mode::kReadOnly);
  if (!database.ok()) return std::nullopt;
  const auto bytes =
      database->query_int(fmt::format("SELECT sum(pgsize) FROM dbstat WHERE name IN ({})", tables));
  return bytes.ok() ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
}

// One process whose ticks are nanoseconds, and its trace.
class Bytes {
 public:
  static constexpr int64_t kEvents = 400'000;
  static constexpr std::string_view kCollectives =
      "'collective', '_collective', '_collective_traits'";

  // Bytes per event, in these `tables`, of what write_one(process, ring, name, number) writes into
  // at most `slots` slots; nullopt if it made no rows.
  template <typename WriteOne>
  std::optional<double> per_event(int64_t slots, std::string_view name, std::string_view tables,
                                  WriteOne&& write_one) {
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
      write_one(process, ring, names[static_cast<size_t>(i) % names.size()], i);
      if (i * slots % kSlotsPerPass < slots) {
        drain.pass();
        drain.flush();
      }
    }
    drain.finish(false);
    static_cast<void>(output->finish());
    const DrainTotals totals = drain.totals();
    output.reset();
    const std::optional<double> bytes = bytes_of_tables(file, tables);
    read_per_s_ = rows_read_per_s(file);
    fs::remove(file);
    if (totals.lost != 0 || totals.events < kEvents || !bytes) return std::nullopt;
    return *bytes / static_cast<double>(kEvents);
  }

  // Times as in a training step: microseconds apart, tens of microseconds long.
  static uint64_t start_of(int64_t number) {
    return 1'000'000 + static_cast<uint64_t>(number) * 20'000;
  }

  // How fast the collectives of the last trace were read; 0 = it had none.
  [[nodiscard]] double read_per_s() const { return read_per_s_; }

 private:
  static double rows_read_per_s(const fs::path& file) {
    const auto reader = schema::TraceReader::open(file);
    if (!reader.ok()) return 0;
    double best = 0;
    for (int round = 0; round < kRounds; ++round) {
      int64_t rows = 0;
      const double start = cpu_seconds();
      const Status read =
          reader->for_each<schema::CollectiveRow>([&](const schema::CollectiveRow&) { ++rows; });
      if (read.ok()) best = std::max(best, static_cast<double>(rows) / (cpu_seconds() - start));
    }
    return best;
  }

  double read_per_s_ = 0;
};

constexpr uint8_t kAllReduce = 1;

std::optional<double> bytes_of_range(Bytes& bytes) {
  return bytes.per_event(2, "aten::op_{}", "'host_range'",
                         [](FakeProcess&, wire::RingWriter& ring, uint32_t name, int64_t number) {
                           const uint64_t start = Bytes::start_of(number);
                           ring.push(range_begin(name, start, 0));
                           ring.push(range_end(start + 9'876, 0));
                         });
}

wire::Record kernel_record(uint32_t name, uint64_t ticks, int64_t start_ns, uint32_t correlation) {
  return record_of(wire::Kind::kGpuActivity, name, ticks,
                   kernel_of(start_ns, start_ns + 9'876, 7, correlation));
}

std::optional<double> bytes_of_kernel(Bytes& bytes) {
  return bytes.per_event(
      3, "void kernel_{}<float>(float*)", "'_gpu_activity', '_gpu_activity_traits'",
      [](FakeProcess&, wire::RingWriter& ring, uint32_t name, int64_t number) {
        const uint64_t start = Bytes::start_of(number);
        const wire::KernelShape shape{{name % 64 + 1, 2, 1}, {256, 1, 1}, 40, 1024, 0, {}};
        ring.push(kernel_record(name, start + 15'000, static_cast<int64_t>(start),
                                static_cast<uint32_t>(number) + 1),
                  &shape, sizeof shape);
      });
}

std::optional<double> bytes_of_gloo(Bytes& bytes) {
  return bytes.per_event(
      3, "gloo:all_reduce", Bytes::kCollectives,
      [](FakeProcess&, wire::RingWriter& ring, uint32_t name, int64_t number) {
        const uint64_t start = Bytes::start_of(number);
        ring.push(collective_enqueue(name, start, 77, kAllReduce));
        ring.push(collective_edge(wire::Kind::kCollectiveBegin, name, start + 2'000, 5));
        ring.push(collective_edge(wire::Kind::kCollectiveEnd, 0, start + 12'000, 5));
      });
}

// As in DDP: LibTorch's call with its bucket, NCCL's call, collective and launch; the kernel comes
// about a second after the row was written.
std::optional<double> bytes_of_nccl(Bytes& bytes) {
  constexpr uint64_t kHash = 0x5EED;
  constexpr uint8_t kNcclBackend = 2, kFloat32 = 8;
  constexpr int64_t kLater = 3000;  // collectives between a call and its kernel's record
  wire::NcclTuning tuning{};
  return bytes.per_event(
      9, "ncclDevKernel_AllReduce_{}", Bytes::kCollectives,
      [&](FakeProcess& process, wire::RingWriter& ring, uint32_t name, int64_t number) {
        const uint64_t start = Bytes::start_of(number);
        if (number == 0) {
          wire::NcclCommunicator made{};
          made.hash = kHash;
          made.ranks = 8;
          ring.push(record_of(wire::Kind::kNcclCommunicator, 0, start - 100, made));
          tuning = {process.text("RING"), process.text("SIMPLE"), 16, {}};
        }
        const auto id = static_cast<uint64_t>(number) * 4 + 1;
        wire::Record torch = collective_enqueue(name, start, 77, kAllReduce);
        torch.enqueue.backend = kNcclBackend;
        torch.enqueue.bucket = static_cast<uint16_t>(1 + number % 20);
        torch.enqueue.ready_ticks = start - 5'000;
        ring.push(torch);
        wire::NcclCall call{};
        call.id = id;
        call.hash = kHash;
        call.count = 1'000'000 + number % 20;
        call.stream = 7;
        call.launch = id + 3;
        call.root = -1;
        call.function = kAllReduce;
        call.data_type = kFloat32;
        ring.push(record_of(wire::Kind::kNcclCall, 0, start + 1'000, call));
        wire::NcclCollective collective{};
        collective.id = id + 1;
        collective.call = id;
        collective.hash = kHash;
        collective.sequence = static_cast<uint64_t>(number);
        collective.root = -1;
        collective.function = kAllReduce;
        collective.data_type = kFloat32;
        collective.channels = 24;
        ring.push(record_of(wire::Kind::kNcclCollective, 0, start + 2'000, collective), &tuning,
                  sizeof tuning);
        ring.push(record_of(wire::Kind::kNcclLaunch, 0, start + 3'000,
                            wire::NcclLaunch{id + 2, id + 3, 7, {}}));
        if (number < kLater) return;
        const auto correlation = static_cast<uint32_t>(number - kLater) + 1'000'000;
        const int64_t run_ns = static_cast<int64_t>(Bytes::start_of(number - kLater)) + 2'000'000;
        ring.push(record_of(wire::Kind::kExternalCorrelation, 0, start + 4'000,
                            wire::ExternalCorrelation{.external = id + 2 - 4 * kLater,
                                                      .correlation = correlation}));
        ring.push(kernel_record(name, start + 5'000, run_ns, correlation));
        if (number % 1000 != 0) return;
        ring.push(record_of(wire::Kind::kGpuFlush, 0, start + 6'000, wire::GpuFlush{}));
      });
}

std::string text_of(std::optional<double> bytes) {
  return bytes ? fmt::format("{:.1f}", *bytes) : "null";
}

void print_bytes() {
  Bytes bytes;
  const std::string range = text_of(bytes_of_range(bytes));
  const std::string kernel = text_of(bytes_of_kernel(bytes));
  const std::string gloo = text_of(bytes_of_gloo(bytes));
  const std::string nccl = text_of(bytes_of_nccl(bytes));
  fmt::print(
      "{{\"name\": \"trace_bytes\", \"host_range\": {}, \"kernel\": {}, \"collective\": "
      "{}, \"nccl_collective\": {}}}\n",
      range, kernel, gloo, nccl);
}

void print_read() {
  Bytes bytes;
  bytes_of_nccl(bytes);
  fmt::print("{{\"name\": \"read_collectives\", \"rows_per_s\": {:.0f}}}\n", bytes.read_per_s());
}

}  // namespace
}  // namespace dprof::recorder

int main(int argc, char** argv) {
  using namespace dprof::recorder;
  if (argc == 2 && std::string_view(argv[1]) == "--bytes") {
    print_bytes();
    return 0;
  }
  if (argc == 2 && std::string_view(argv[1]) == "--read") {
    print_read();
    return 0;
  }
  if (argc == 4 && std::string_view(argv[1]) == "--synchronous") {
    print_synchronous(argv[2], argv[3]);
    return 0;
  }
  const bool given = argc == 3 && std::string_view(argv[1]) == "--rows";
  const int64_t rows = given ? std::atoll(argv[2]) : kRows;
  const fs::path file = fs::temp_directory_path() / "dprof-bench-recorder-rows.dprof";
  double best = 0;
  for (int i = 0; i < kRounds; ++i) best = std::max(best, one_round(file, rows).rows_per_s);
  const auto bytes = static_cast<double>(fs::file_size(file));
  fs::remove(file);
  fmt::print("{{\"name\": \"recorder_rows\", \"rows_per_s\": {:.0f}, \"bytes_per_row\": {:.1f}}}\n",
             best, bytes / static_cast<double>(rows));
  return 0;
}
