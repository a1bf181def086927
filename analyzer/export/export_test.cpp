// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "analyzer/analysis.h"
#include "analyzer/export/csv.h"
#include "analyzer/export/json_text.h"
#include "analyzer/export/proto.h"
#include "analyzer/import/import.h"
#include "analyzer/import/input.h"
#include "schema/database.h"
#include "schema/trace_writer.h"
#include "tests/support/run_builder.h"
#include "tests/support/temporary_folder.h"

namespace dprof::analyzer {
namespace {

namespace fs = std::filesystem;
using schema::GpuActivityKind;
using schema::RangeCategory;
using test_support::TemporaryFolder;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAreArray;

// --- a reader of the wire format, independent of the writer ---

struct Field {
  uint64_t number = 0;
  uint64_t value = 0;  // for a varint or fixed64
  std::string_view bytes;
};

// Fails the test if the bytes are not a message.
std::vector<Field> fields_of(std::string_view bytes) {
  std::vector<Field> fields;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0; shift < 70 && !bytes.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    ADD_FAILURE() << "a number without an end";
    return value;
  };
  while (!bytes.empty()) {
    const uint64_t key = varint();
    Field field{key >> 3, 0, {}};
    if ((key & 7) == 0) {
      field.value = varint();
    } else if ((key & 7) == 1 && bytes.size() >= 8) {
      for (size_t i = 0; i < 8; ++i)
        field.value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
      bytes.remove_prefix(8);
    } else if ((key & 7) == 2) {
      const uint64_t length = varint();
      if (length > bytes.size()) {
        ADD_FAILURE() << "a length beyond the end";
        return fields;
      }
      field.bytes = bytes.substr(0, length);
      bytes.remove_prefix(length);
    } else {
      ADD_FAILURE() << "wire type " << (key & 7);
      return fields;
    }
    fields.push_back(field);
  }
  return fields;
}

const Field* field(const std::vector<Field>& fields, uint64_t number) {
  const auto at = std::ranges::find(fields, number, &Field::number);
  return at == fields.end() ? nullptr : &*at;
}
uint64_t value(const std::vector<Field>& fields, uint64_t number, uint64_t otherwise = 0) {
  const Field* at = field(fields, number);
  return at == nullptr ? otherwise : at->value;
}
std::string text(const std::vector<Field>& fields, uint64_t number) {
  const Field* at = field(fields, number);
  return at == nullptr ? "" : std::string(at->bytes);
}

struct Slice {
  std::string track;
  std::string category;
  std::string name;
  int64_t start = 0;
  int64_t end = 0;
  size_t depth = 0;
  std::map<std::string, std::string> notes;
};

// A trace as Perfetto's reader sees it: stable sort by time, ends close the youngest slice.
struct Replay {
  std::vector<Slice> slices;
  std::vector<Slice> instants;
  std::map<std::string, std::vector<int64_t>> counters;
  std::map<uint64_t, int> flows;  // number of occurrences
  std::vector<std::string> tracks;
  size_t clocks = 0;

  [[nodiscard]] std::vector<Slice> of(const std::string& category) const {
    std::vector<Slice> chosen;
    for (const Slice& slice : slices) {
      if (slice.category == category) chosen.push_back(slice);
    }
    return chosen;
  }
  [[nodiscard]] Slice named(const std::string& name) const {
    for (const Slice& slice : slices) {
      if (slice.name == name) return slice;
    }
    ADD_FAILURE() << "no slice " << name;
    return {};
  }
};

Replay replay(const std::string& bytes) {
  struct Event {
    uint64_t time;
    uint64_t type;
    uint64_t track;
    int64_t counter;
    Slice slice;
  };
  Replay result;
  std::vector<Event> events;
  std::map<uint64_t, std::string> track_names;
  std::map<uint64_t, std::map<std::pair<uint64_t, uint64_t>, std::string>> interned;
  for (const Field& packet : fields_of(bytes)) {
    EXPECT_EQ(packet.number, 1U);
    const std::vector<Field> fields = fields_of(packet.bytes);
    if (field(fields, 6) != nullptr) ++result.clocks;
    if (const Field* descriptor = field(fields, 60); descriptor != nullptr) {
      const std::vector<Field> track = fields_of(descriptor->bytes);
      const uint64_t uuid = value(track, 1);
      std::string name = text(track, 2);
      if (const Field* process = field(track, 3); process != nullptr)
        name = text(fields_of(process->bytes), 6);
      if (const Field* thread = field(track, 4); thread != nullptr)
        name = text(fields_of(thread->bytes), 5);
      if (uuid != 0) {
        EXPECT_TRUE(track_names.emplace(uuid, name).second) << "two of one uuid";
      }
      if (const Field* parent = field(track, 5); parent != nullptr) {
        EXPECT_TRUE(track_names.contains(parent->value)) << "a child before its parent";
      }
      result.tracks.push_back(name);
    }
    const uint64_t sequence = value(fields, 10);
    auto& names = interned[sequence];
    if (const Field* data = field(fields, 12); data != nullptr) {
      for (const Field& entry : fields_of(data->bytes)) {
        const std::vector<Field> parts = fields_of(entry.bytes);
        EXPECT_TRUE(names.try_emplace({entry.number, value(parts, 1)}, text(parts, 2)).second);
      }
    }
    const Field* event = field(fields, 11);
    if (event == nullptr) continue;
    EXPECT_NE(sequence, 0U);
    EXPECT_NE(value(fields, 13) & 2, 0U) << "uses names without saying so";
    const std::vector<Field> parts = fields_of(event->bytes);
    const auto name_of = [&](uint64_t kind, uint64_t number) {
      const auto known = names.find({kind, number});
      if (known != names.end()) return known->second;
      ADD_FAILURE() << "a name that nobody defined";
      return std::string();
    };
    Event read{value(fields, 8),
               value(parts, 9),
               value(parts, 11),
               static_cast<int64_t>(value(parts, 30)),
               {}};
    EXPECT_TRUE(track_names.contains(read.track)) << "an event of no track";
    read.slice.track = track_names[read.track];
    read.slice.name = text(parts, 23);
    for (const Field& part : parts) {
      if (part.number == 3) read.slice.category = name_of(1, part.value);
      if (part.number == 10) read.slice.name = name_of(2, part.value);
      if (part.number == 47 || part.number == 48) ++result.flows[part.value];
      if (part.number != 4) continue;
      const std::vector<Field> note = fields_of(part.bytes);
      const Field* number = field(note, 4);
      read.slice.notes[name_of(3, value(note, 1))] =
          number != nullptr ? std::to_string(static_cast<int64_t>(number->value)) : text(note, 6);
    }
    events.push_back(std::move(read));
  }
  std::ranges::stable_sort(events, {}, &Event::time);
  std::map<uint64_t, std::vector<Slice>> open;
  for (Event& event : events) {
    const int64_t time = static_cast<int64_t>(event.time) - (int64_t{1} << 40);
    event.slice.start = time;
    std::vector<Slice>& stack = open[event.track];
    event.slice.depth = stack.size();
    switch (event.type) {
      case 1:
        stack.push_back(event.slice);
        break;
      case 2:
        if (stack.empty()) {
          ADD_FAILURE() << "an end without a begin on " << event.slice.track;
          break;
        }
        stack.back().end = time;
        result.slices.push_back(stack.back());
        stack.pop_back();
        break;
      case 3:
        result.instants.push_back(event.slice);
        break;
      default:
        EXPECT_EQ(event.type, 4U);
        result.counters[event.slice.track].push_back(event.counter);
    }
  }
  for (const auto& [track, stack] : open) EXPECT_THAT(stack, IsEmpty()) << track;
  return result;
}

// --- the exported data ---

std::string read_all(const fs::path& path) {
  Result<Input> input = Input::open(path);
  if (!input.ok()) {
    ADD_FAILURE() << input.error().what;
    return "";
  }
  std::string all;
  for (std::string_view part = input->next(); !part.empty(); part = input->next()) all += part;
  EXPECT_EQ(input->failure(), "");
  return all;
}

struct Exported {
  ExportSummary summary;
  std::string bytes;  // contents of the one file
};

Result<Exported> try_export(const fs::path& run_path, const ExportOptions& options,
                            const fs::path& out) {
  const Result<Run> run = open_run({run_path});
  if (!run.ok()) return fail(run.error());
  Result<Analysis> analysis = analyze(*run);
  if (!analysis.ok()) return fail(analysis.error());
  ExportFindings found{
      analysis->ranks, &analysis->clocks, analysis->collectives, analysis->messages, {}};
  if (analysis->report.findings) found.findings = *analysis->report.findings;
  Result<ExportSummary> summary = export_run(*run, found, options, out);
  if (!summary.ok()) return fail(summary.error());
  Exported exported{*std::move(summary), ""};
  if (fs::is_regular_file(out)) exported.bytes = read_all(out);
  return exported;
}

Exported exported(const fs::path& run, const ExportOptions& options, const fs::path& out) {
  Result<Exported> done = try_export(run, options, out);
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().what);
  return done.ok() ? *std::move(done) : Exported{};
}

// A trace with rows of every kind, including awkward cases. Times in us.
class TraceMaker {
 public:
  TraceMaker(const fs::path& path, int rank) {
    Result<std::unique_ptr<schema::TraceWriter>> made = schema::TraceWriter::create(path);
    EXPECT_TRUE(made.ok());
    writer_ = *std::move(made);
    writer_->set_meta("rank", std::to_string(rank));
    writer_->set_meta("pid", "70");
    writer_->set_meta("clock_id", "one");
    writer_->set_meta("host", "node1");
    writer_->set_meta("origin_realtime_ns", "1760000000000000123");
    writer_->set_meta("ended", "complete");
    add(schema::ThreadRow{.id = 0, .os_tid = 70, .role = schema::ThreadRole::kMain});
    add(schema::ThreadRow{.id = 1, .os_tid = 71, .name_id = name("worker \"1\"")});
    add(schema::DeviceRow{.id = 0, .uuid = {}, .name_id = name("H100")});
    add(schema::StreamRow{.id = 0, .device_id = 0, .cuda_stream = 7});
  }
  ~TraceMaker() { EXPECT_TRUE(writer_->finish().ok()); }

  template <typename Row>
  void add(const Row& row) {
    EXPECT_TRUE(writer_->append(row).ok());
  }
  int64_t name(std::string_view text) { return writer_->intern(text); }

  void range(std::string_view what, int64_t start, int64_t end, RangeCategory category,
             int64_t thread = 0, std::optional<int64_t> correlation = {}) {
    std::optional<int64_t> length;
    if (end >= 0) length = (end - start) * 1000;
    add(schema::HostRangeRow{.id = ranges_++,
                             .thread_id = thread,
                             .start_ns = start * 1000,
                             .duration_ns = length,
                             .name_id = name(what),
                             .category = category,
                             .sequence = {},
                             .correlation = correlation});
  }
  void kernel(std::string_view what, int64_t start, int64_t end,
              std::optional<int64_t> correlation = {},
              const std::optional<schema::KernelShapeRow>& shape = {}) {
    add(schema::ShapedActivity{.activity = {.id = activities_++,
                                            .device_id = 0,
                                            .stream_id = 0,
                                            .start_ns = start * 1000,
                                            .duration_ns = (end - start) * 1000,
                                            .name_id = name(what),
                                            .kind = GpuActivityKind::kKernel,
                                            .bytes = {},
                                            .correlation = correlation,
                                            .graph_node = {},
                                            .graph = {}},
                               .shape = shape});
  }

 private:
  std::unique_ptr<schema::TraceWriter> writer_;
  int64_t ranges_ = 0;
  int64_t activities_ = 0;
};

void write_awkward_trace(const fs::path& path, int rank = 0) {
  TraceMaker trace(path, rank);
  trace.range("step", 100, 1000, RangeCategory::kUser);
  trace.range("forward", 100, 500, RangeCategory::kUser);   // begins with the step
  trace.range("aten::mm", 100, 200, RangeCategory::kOp);    // and with forward
  trace.range("aten::add", 200, 200, RangeCategory::kOp);   // without duration, at the end of one
  trace.range("aten::relu", 200, 500, RangeCategory::kOp);  // ends with forward
  trace.range("crosses", 400, 700, RangeCategory::kNvtx);   // begins in forward, ends after it
  trace.range("mark", 450, 450, RangeCategory::kNvtxMark);
  trace.range("process a", 150, 350, RangeCategory::kNvtxProcess);
  trace.range("process b", 300, 800, RangeCategory::kNvtxProcess);
  trace.range("never closed", 900, -1, RangeCategory::kUser);
  // Driver calls come after the others of their thread, and begin at the same time.
  trace.range("cudaLaunchKernel_v7000", 100, 120, RangeCategory::kApi, 0, 1);
  trace.range("cudaLaunchKernel", 200, 210, RangeCategory::kApi, 0, 2);
  trace.range("cudaMalloc", 220, 230, RangeCategory::kApi, 0, 3);  // no activity ran for it
  trace.range("other thread", 100, 300, RangeCategory::kUser, 1);
  trace.kernel("gemm", 130, 400, 1,
               schema::KernelShapeRow{.grid_x = 8,
                                      .grid_y = 2,
                                      .grid_z = 1,
                                      .block_x = 128,
                                      .block_y = 1,
                                      .block_z = 1,
                                      .registers = 40,
                                      .static_shared_bytes = 1024,
                                      .dynamic_shared_bytes = 0});
  trace.kernel("relu, \"fast\"\n", 400, 450, 2);
  trace.kernel("nobody launched it", 450, 460, 99);
  trace.add(schema::StepRow{.step_index = 0,
                            .start_ns = 100'000,
                            .end_ns = 1'000'000,
                            .source = schema::StepSource::kMarker});
  trace.add(schema::MemoryEventRow{.id = 0,
                                   .thread_id = 0,
                                   .device_id = 0,
                                   .time_ns = 110'000,
                                   .kind = schema::MemoryEventKind::kAlloc,
                                   .address = 4096,
                                   .bytes = 512,
                                   .stream_id = {},
                                   .allocated_bytes = 512,
                                   .reserved_bytes = 2048,
                                   .requested_bytes = {},
                                   .category = {}});
}

class Export : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  fs::path run_ = folder_.path() / "run";
  fs::path out_ = folder_.path() / "out.gz";

  void SetUp() override { fs::create_directory(run_); }
};

// --- the wire ---

TEST(ProtoWriter, LengthsTakeTheBytesThatTheyNeed) {
  for (const size_t size : {0, 1, 127, 128, 16383, 16384, 300000}) {
    ProtoWriter message;
    const size_t outer = message.open(1);
    const size_t inner = message.open(60);
    message.text(2, std::string(size, 'x'));
    message.close(inner);
    message.number(3, 7);
    message.close(outer);
    const std::vector<Field> outside = fields_of(message.bytes());
    ASSERT_THAT(outside, SizeIs(1));
    const std::vector<Field> inside = fields_of(outside[0].bytes);
    ASSERT_THAT(inside, SizeIs(2));
    EXPECT_EQ(inside[0].number, 60U);
    EXPECT_EQ(text(fields_of(inside[0].bytes), 2), std::string(size, 'x'));
    EXPECT_EQ(inside[1].value, 7U);
  }
}

TEST(ProtoWriter, NumbersKeepTheirSignAndAllBits) {
  ProtoWriter message;
  message.number(1, int64_t{-5});
  message.number(2, UINT64_MAX);
  message.fixed64(3, 0x8000000000000001);
  message.real(4, 0.5);
  const std::vector<Field> fields = fields_of(message.bytes());
  EXPECT_EQ(static_cast<int64_t>(value(fields, 1)), -5);
  EXPECT_EQ(value(fields, 2), UINT64_MAX);
  EXPECT_EQ(value(fields, 3), 0x8000000000000001);
  EXPECT_EQ(value(fields, 4), 0x3FE0000000000000);
}

// --- Perfetto ---

TEST_F(Export, PerfettoNestsAsTheRowsDo) {
  write_awkward_trace(run_ / "rank-00000.dprof");
  const Exported done = exported(run_, {}, out_);
  const Replay trace = replay(done.bytes);
  EXPECT_EQ(trace.clocks, 1U);

  // Every row once, with its full duration: rows with equal begins and ends keep theirs.
  std::map<std::string, std::pair<int64_t, int64_t>> us;
  for (const Slice& slice : trace.slices) us[slice.name] = {slice.start / 1000, slice.end / 1000};
  const auto same = [](int64_t begin, int64_t end) { return std::pair(begin, end); };
  EXPECT_EQ(us["step"], same(100, 1000));
  EXPECT_EQ(us["forward"], same(100, 500));
  EXPECT_EQ(us["aten::mm"], same(100, 200));
  EXPECT_EQ(us["aten::add"], same(200, 200));
  EXPECT_EQ(us["aten::relu"], same(200, 500));
  EXPECT_EQ(us["crosses"], same(400, 700));
  EXPECT_EQ(us["process a"], same(150, 350));
  EXPECT_EQ(us["process b"], same(300, 800));
  EXPECT_EQ(us["gemm"], same(130, 400));
  EXPECT_EQ(us["relu, \"fast\"\n"], same(400, 450));
  EXPECT_EQ(us["cudaLaunchKernel_v7000"], same(100, 120));
  EXPECT_EQ(us["never closed"], same(900, 1000));
  EXPECT_EQ(trace.named("never closed").notes.at("open"), "true");

  EXPECT_EQ(trace.named("step").depth, 0U);
  EXPECT_EQ(trace.named("forward").depth, 1U);
  EXPECT_EQ(trace.named("aten::mm").depth, 2U);
  EXPECT_EQ(trace.named("cudaLaunchKernel_v7000").depth, 3U);
  EXPECT_EQ(trace.named("aten::relu").depth, 2U);
  EXPECT_EQ(trace.named("step").track, "main 70");
  EXPECT_EQ(trace.named("crosses").track, "main 70: crossing");
  EXPECT_EQ(trace.named("other thread").track, "worker \"1\" 71");
  EXPECT_EQ(trace.named("gemm").track, "stream 7");
  EXPECT_EQ(trace.named("gemm").notes.at("grid"), "8 x 2 x 1");
  EXPECT_EQ(trace.named("gemm").notes.at("registers"), "40");
  EXPECT_EQ(trace.named("step 0").track, "steps");
  EXPECT_EQ(trace.counters.at("GPU 0 memory allocated"), std::vector<int64_t>{512});
  EXPECT_EQ(trace.counters.at("GPU 0 memory reserved"), std::vector<int64_t>{2048});
  EXPECT_THAT(trace.tracks, Contains("rank 0 (node1, pid 70)"));
  size_t marks = 0;
  for (const Slice& instant : trace.instants) marks += instant.name == "mark" ? 1 : 0;
  EXPECT_EQ(marks, 1U);
  EXPECT_EQ(trace.of("kernel").size(), 3U);
  EXPECT_EQ(trace.of("api").size(), 3U);
  EXPECT_THAT(done.summary.left_out, IsEmpty());
}

TEST_F(Export, PerfettoPutsWhatCrossesOnTracksOfItsOwn) {
  {
    TraceMaker trace(run_ / "rank-00000.dprof", 0);
    trace.range("a", 0, 100, RangeCategory::kNvtx);
    trace.range("b", 50, 150, RangeCategory::kNvtx);
    trace.range("c", 60, 170, RangeCategory::kNvtx);
    trace.range("d", 160, 180, RangeCategory::kNvtx);
  }
  const Replay trace = replay(exported(run_, {}, out_).bytes);
  EXPECT_EQ(trace.named("a").track, "main 70");
  EXPECT_EQ(trace.named("b").track, "main 70: crossing");
  EXPECT_EQ(trace.named("c").track, "main 70: crossing");
  EXPECT_EQ(trace.named("d").track, "main 70");
  EXPECT_EQ(trace.named("c").end, 170'000);
  EXPECT_THAT(trace.tracks, Contains("main 70: crossing").Times(2));
}

TEST_F(Export, PerfettoFlowsGoFromALaunchToWhatItLaunched) {
  write_awkward_trace(run_ / "rank-00000.dprof", 0);
  const Replay trace = replay(exported(run_, {}, out_).bytes);
  // Correlation 3 launched nothing, 99 has no launch.
  EXPECT_EQ(trace.flows,
            (std::map<uint64_t, int>{{(uint64_t{1} << 40) + 1, 2}, {(uint64_t{1} << 40) + 2, 2}}));
}

TEST_F(Export, PerfettoTiesCollectivesOfAllRanks) {
  test_support::RunSpec spec;
  spec.ranks = 3;
  spec.steps = 10;
  spec.delays = {{.rank = 2, .phase = test_support::Phase::kForward, .ns = 20'000'000}};
  const fs::path run = folder_.path() / "made";
  ASSERT_TRUE(test_support::write_run(run, spec).ok());
  const Exported done = exported(run, {}, out_);
  const Replay trace = replay(done.bytes);
  const std::vector<Slice> collectives = trace.of("collective");
  ASSERT_EQ(collectives.size(), 3U * (1 + 10 * 2));  // the broadcast; two buckets per step
  EXPECT_EQ(trace.flows.size(), 1U + 10 * 2);
  for (const auto& [id, times] : trace.flows) {
    EXPECT_EQ(times, 3);
    EXPECT_NE(id & (uint64_t{1} << 63), 0U);
  }
  int64_t waits = 0;
  for (const Slice& slice : trace.of("wait")) waits += slice.name == "wait for rank 2" ? 1 : 0;
  EXPECT_GE(waits, 2 * 10);
  for (const Slice& slice : trace.of("transfer")) EXPECT_EQ(slice.depth, 1U);
  EXPECT_EQ(collectives[5].notes.at("clock_bound_ns"), "0");  // one host, one clock
  EXPECT_EQ(trace.of("step").size(), 3U * 10);
  EXPECT_THAT(trace.tracks, Contains("dprof findings"));
  std::string found;
  for (const Slice& instant : trace.instants) found += instant.name + "\n";
  EXPECT_THAT(found, HasSubstr("rank 2"));

  // Only some ranks, some steps: no dangling arrow.
  const Replay part = replay(
      exported(run, {.ranks = {0, 2}, .steps = std::pair<int64_t, int64_t>(4, 6)}, out_).bytes);
  EXPECT_EQ(part.of("step").size(), 2U * 2);
  EXPECT_EQ(part.of("collective").size(), 2U * 2 * 2);
  EXPECT_EQ(part.flows.size(), 2U * 2);
  for (const auto& [id, times] : part.flows) EXPECT_EQ(times, 2);
}

// --- Chrome JSON ---

// The rows of a table, with names instead of numbers that a file assigns anew.
std::vector<std::string> rows_of(const fs::path& trace, const std::string& sql) {
  Result<schema::Database> database =
      schema::Database::open(trace, schema::Database::Mode::kReadOnly);
  EXPECT_TRUE(database.ok());
  Result<schema::Statement> statement = database->prepare(sql);
  EXPECT_TRUE(statement.ok()) << (statement.ok() ? "" : statement.error().what);
  std::vector<std::string> rows;
  while (statement.ok()) {
    const Result<bool> more = statement->step();
    EXPECT_TRUE(more.ok());
    if (!more.ok() || !*more) break;
    std::string row;
    for (int i = 0; i < statement->column_count(); ++i)
      row += std::string(statement->is_null(i) ? "-" : statement->text(i)) + " | ";
    rows.push_back(row);
  }
  return rows;
}

constexpr const char* kTablesOfChrome[] = {
    "SELECT t.os_tid, n.value, start_ns, duration_ns, s.value, category, sequence, correlation "
    "FROM host_range JOIN thread t ON t.id = thread_id JOIN string s ON s.id = host_range.name_id "
    "LEFT JOIN string n ON n.id = t.name_id",
    "SELECT a.device_id, cuda_stream, start_ns, duration_ns, s.value, kind, bytes, correlation, "
    "graph_node, graph, grid_x, grid_y, block_x, registers, static_shared_bytes "
    "FROM gpu_activity a JOIN stream ON stream.id = stream_id JOIN string s ON s.id = a.name_id "
    "LEFT JOIN kernel_shape k ON k.activity_id = a.id",
    "SELECT event, w.cuda_stream, r.cuda_stream, record_ns, wait_ns, correlation "
    "FROM gpu_dependency LEFT JOIN stream w ON w.id = wait_stream_id "
    "LEFT JOIN stream r ON r.id = record_stream_id",
    "SELECT hash, backend, size, own_rank, function, group_sequence, bytes, count, dtype, peer, "
    "enqueue_ns, start_ns, end_ns, state, cuda_stream, captured, correlation, reduction "
    "FROM collective c JOIN communicator ON communicator.id = communicator_id "
    "LEFT JOIN stream ON stream.id = stream_id",
    "SELECT step_index, start_ns, end_ns, source FROM step",
    "SELECT device_id, time_ns, kind, address, bytes, allocated_bytes, reserved_bytes "
    "FROM memory_event",
    "SELECT d.id, n.value, memory_bytes, compute_capability FROM device d "
    "LEFT JOIN string n ON n.id = name_id",
};

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

// PyTorch's profiler's output for a step with a collective, waits and memory.
const char* const kKineto = R"json({"schemaVersion": 1,
"deviceProperties": [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85000000000,
  "computeMajor": 9, "computeMinor": 0}],
"distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
"baseTimeNanoseconds": 1760000000000000000, "traceEvents": [
{"ph":"M","name":"thread_name","pid":70,"tid":71,"ts":0,"args":{"name":"pt_autograd_0"}},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#7","pid":70,"tid":70,"ts":10.125,"dur":900},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":70,"tid":70,"ts":20,"dur":50.5,
  "args":{"External id":5,"Sequence number":17}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":70,"tid":70,"ts":30,"dur":5,
  "args":{"correlation":11}},
{"ph":"X","cat":"cpu_op","name":"MmBackward0","pid":70,"tid":71,"ts":100,"dur":80,
  "args":{"Fwd thread id":1,"Sequence number":17}},
{"ph":"X","cat":"cpu_op","name":"odd node","pid":70,"tid":71,"ts":110,"dur":8,
  "args":{"Fwd thread id":1}},
{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":70,"tid":71,"ts":200,"dur":60,
  "args":{"External id":9,"Collective name":"allreduce","In msg nelems":1000,"Out msg nelems":1000,
  "Group size":2,"dtype":"Float","Process Group Name":"1","Process Group Ranks":"[3, 5]","Seq":4}},
{"ph":"X","cat":"user_annotation","name":"nccl:all_reduce","pid":70,"tid":71,"ts":205,"dur":50,
  "args":{"External id":10}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernelExC","pid":70,"tid":71,"ts":220,"dur":5,
  "args":{"correlation":12}},
{"ph":"X","cat":"cuda_runtime","name":"cudaEventRecord","pid":70,"tid":71,"ts":230,"dur":2,
  "args":{"correlation":13}},
{"ph":"X","cat":"cuda_runtime","name":"cudaStreamWaitEvent","pid":70,"tid":70,"ts":240,"dur":2,
  "args":{"correlation":14}},
{"ph":"X","cat":"kernel","name":"gemm<\"a\\b\">","pid":0,"tid":7,"ts":40,"dur":100,
  "args":{"device":0,"stream":7,"correlation":11,"grid":[8, 2, 1],"block":[128, 1, 1],
  "registers per thread":40,"shared memory":1024}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)","pid":0,"tid":20,
  "ts":250,"dur":300,"args":{"device":0,"stream":20,"correlation":12}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(x)","pid":0,
  "tid":20,"ts":600,"dur":30,"args":{"device":0,"stream":20,"correlation":77,"External id":99,
  "Collective name":"_reduce_scatter_base","In msg nelems":64,"dtype":"BFloat16",
  "Process Group Name":"0","Group size":8,"Process Group Ranks":"[0, 1, 2, 3, 4, 5, 6, 7]"}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":0,"tid":7,"ts":150,
  "dur":7,"args":{"device":0,"stream":7,"correlation":15,"bytes":4096}},
{"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":7,"ts":240,"dur":0,
  "args":{"cuda_sync_kind":"Stream Wait Event","device":0,"stream":7,"correlation":14,
  "wait_on_stream":20,"wait_on_cuda_event_id":3,"wait_on_cuda_event_record_corr_id":13}},
{"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":700,"dur":9,
  "args":{"cuda_sync_kind":"Stream Sync","device":0,"stream":7,"correlation":16}},
{"ph":"X","cat":"cuda_sync","name":"Context Sync","pid":0,"tid":-1,"ts":800,"dur":9,
  "args":{"cuda_sync_kind":"Context Sync","device":0,"stream":-1,"correlation":17}},
{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":70,"tid":70,"ts":25,
  "args":{"Addr":4096,"Bytes":512,"Device Type":1,"Device Id":0,"Total Allocated":512,
  "Total Reserved":2048}},
{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":70,"tid":70,"ts":90,
  "args":{"Addr":4096,"Bytes":-512,"Device Type":0,"Device Id":-1}},
{"ph":"b","cat":"nvtx","id":1,"name":"over threads","pid":70,"tid":70,"ts":15,"args":{}},
{"ph":"e","cat":"nvtx","id":1,"name":"over threads","pid":70,"tid":71,"ts":600,"args":{}},
{"ph":"B","name":"never closed","pid":70,"tid":70,"ts":850,"args":{}}
]})json";

TEST_F(Export, ChromeJsonImportedAgainGivesTheSameRows) {
  const fs::path original = folder_.path() / "original.json";
  std::ofstream(original) << kKineto;
  const fs::path first = folder_.path() / "first";
  const fs::path second = folder_.path() / "second";
  ASSERT_TRUE(import_files({original}, first).ok());
  const fs::path out = folder_.path() / "kineto";
  const Exported done = exported(first, {.format = ExportFormat::kChrome}, out);
  ASSERT_THAT(files_in(out), SizeIs(1));
  EXPECT_EQ(files_in(out)[0].filename(), "rank-00003.1760000000000.pt.trace.json.gz");
  EXPECT_THAT(done.summary.left_out, IsEmpty());
  ASSERT_TRUE(import_files({out}, second).ok());
  for (const char* sql : kTablesOfChrome) {
    const std::vector<std::string> before = rows_of(first / "rank-00003.dprof", sql);
    EXPECT_FALSE(before.empty()) << sql;
    EXPECT_THAT(rows_of(second / "rank-00003.dprof", sql), UnorderedElementsAreArray(before))
        << sql;
  }
  for (const char* key : {"origin_realtime_ns", "time_resolution_ns", "world_size", "last_event_ns",
                          "distributed_info"}) {
    const std::string sql = std::string("SELECT value FROM meta WHERE key = '") + key + "'";
    EXPECT_EQ(rows_of(second / "rank-00003.dprof", sql), rows_of(first / "rank-00003.dprof", sql));
  }
}

TEST_F(Export, ChromeJsonIsWhatItsReadersLookFor) {
  write_awkward_trace(run_ / "rank-00000.dprof");
  const fs::path out = folder_.path() / "kineto";
  exported(run_, {.format = ExportFormat::kChrome}, out);
  ASSERT_THAT(files_in(out), SizeIs(1));
  const std::string text = read_all(files_in(out)[0]);
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  ASSERT_TRUE(json.is_object());
  // HTA takes the rank from the first matching line.
  EXPECT_NE(text.find("\"rank\": 0"), std::string::npos);
  EXPECT_LT(text.find("\"rank\": 0"), text.find("\"traceEvents\""));
  std::map<std::string, nlohmann::json> events;
  for (const nlohmann::json& event : json["traceEvents"]) {
    const bool on_gpu = event.contains("cat") && event["cat"] == "kernel";
    EXPECT_EQ(event.contains("args") && event["args"].contains("stream"), on_gpu) << event;
    if (event["ph"] != "s" && event["ph"] != "f") events[event["name"]] = event;
  }
  EXPECT_EQ(events["ProfilerStep#0"]["cat"], "user_annotation");
  EXPECT_EQ(events["cudaLaunchKernel"]["cat"], "cuda_runtime");
  EXPECT_EQ(events["relu, \"fast\"\n"]["args"]["correlation"], 2);
  EXPECT_EQ(events["never closed"]["ph"], "B");
  EXPECT_EQ(events["gemm"]["ts"], 130.0);
  EXPECT_FALSE(events.contains("cudaLaunchKernel_v7000"));
}

TEST(JsonText, TimesAreExact) {
  const auto us = [](int64_t ns, int decimals) {
    std::string text;
    append_microseconds(text, ns, decimals);
    return text;
  };
  EXPECT_EQ(us(1'234'567, 3), "1234.567");
  EXPECT_EQ(us(1'234'000, 3), "1234.000");
  EXPECT_EQ(us(1'234'000, 0), "1234");
  EXPECT_EQ(us(1'234'050, 0), "1234.05");
  EXPECT_EQ(us(-5, 3), "-0.005");
  EXPECT_EQ(us(INT64_MIN, 3), "-9223372036854775.808");
}

TEST(JsonText, AnyBytesBecomeATextThatReadersTake) {
  std::string text;
  append_json_text(text, std::string("a\"b\\c\n\x01\xFFü", 10));
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  ASSERT_TRUE(json.is_string()) << text;
  EXPECT_EQ(json.get<std::string>(), "a\"b\\c\n\x01\xEF\xBF\xBDü");
}

// --- tables ---

TEST_F(Export, CsvHasEveryRowOfEveryTable) {
  write_awkward_trace(run_ / "rank-00000.dprof");
  write_awkward_trace(run_ / "rank-00001.dprof", 1);
  const fs::path out = folder_.path() / "tables";
  exported(run_, {.format = ExportFormat::kCsv}, out);
  const std::string kernels = read_all(out / "gpu_activity.csv");
  EXPECT_THAT(kernels, HasSubstr("rank,id,device_id,stream_id,start_ns,duration_ns,name,kind,"));
  EXPECT_THAT(kernels, HasSubstr("\n1,1,0,0,400000,50000,\"relu, \"\"fast\"\"\n\",kernel,,2,,\n"));
  const std::string ranges = read_all(out / "host_range.csv");
  EXPECT_EQ(std::ranges::count(ranges, '\n'), 1 + 2 * 14);

  const fs::path raw = folder_.path() / "raw";
  exported(run_, {.format = ExportFormat::kCsv, .ranks = {1}, .raw = true}, raw);
  const std::string numbers = read_all(raw / "host_range.csv");
  EXPECT_THAT(numbers, HasSubstr(",name_id,category,"));
  EXPECT_EQ(std::ranges::count(numbers, '\n'), 1 + 14);
  EXPECT_TRUE(fs::exists(raw / "string.csv"));
  EXPECT_THAT(read_all(raw / "string.csv"), HasSubstr("\n1,0,\"\"\n"));  // NULL is unquoted
  EXPECT_THAT(read_all(out / "communicator_member.csv"), StartsWith("trace_rank,communicator"));
}

// --- flame graphs ---

TEST_F(Export, SpeedscopeClosesWhatItOpens) {
  write_awkward_trace(run_ / "rank-00000.dprof");
  const fs::path out = folder_.path() / "out.json";
  const Exported done = exported(run_, {.format = ExportFormat::kSpeedscope}, out);
  const nlohmann::json json = nlohmann::json::parse(done.bytes, nullptr, false);
  ASSERT_TRUE(json.is_object()) << done.bytes;
  const size_t frames = json["shared"]["frames"].size();
  std::map<std::string, size_t> slices;
  for (const nlohmann::json& profile : json["profiles"]) {
    std::vector<int64_t> open;
    int64_t last = profile["startValue"];
    for (const nlohmann::json& event : profile["events"]) {
      EXPECT_GE(event["at"].get<int64_t>(), last);
      last = event["at"];
      const int64_t frame = event["frame"];
      ASSERT_LT(static_cast<size_t>(frame), frames);
      if (event["type"] == "O") {
        open.push_back(frame);
        ++slices[profile["name"]];
        continue;
      }
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(open.back(), frame);
      open.pop_back();
    }
    EXPECT_THAT(open, IsEmpty());
    EXPECT_EQ(profile["endValue"], last);
  }
  EXPECT_EQ(slices, (std::map<std::string, size_t>{{"rank 0 main 70", 9},
                                                   {"rank 0 worker \"1\" 71", 1},
                                                   {"rank 0 GPU 0 stream 7", 3}}));
  std::string left;
  for (const ExportLeftOut& one : done.summary.left_out)
    left += std::to_string(one.count) + " " + one.what + "\n";
  EXPECT_THAT(left, HasSubstr("2 ranges that belong to no thread"));
  EXPECT_THAT(left, HasSubstr("1 slices that never ended"));
}

TEST_F(Export, FoldedStacksHaveEachTimeOnce) {
  write_awkward_trace(run_ / "rank-00000.dprof");
  const fs::path out = folder_.path() / "out.folded";
  const Exported done = exported(run_, {.format = ExportFormat::kFolded}, out);
  EXPECT_THAT(done.bytes, HasSubstr("rank 0;GPU 0 stream 7;gemm 270000\n"));
  EXPECT_THAT(done.bytes, HasSubstr("rank 0;main 70;step;forward;aten::mm 80000\n"));
  int64_t main = 0;
  std::istringstream lines(done.bytes);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("rank 0;main 70;")) main += std::stoll(line.substr(line.rfind(' ')));
  }
  EXPECT_EQ(main, 900'000);  // the duration of the step, which encloses all
}

// --- files ---

TEST_F(Export, NeverMixesWithAnEarlierExport) {
  write_awkward_trace(run_ / "rank-00000.dprof");
  const fs::path out = folder_.path() / "kineto";
  fs::create_directory(out);
  std::ofstream(out / "rank-00009.json") << "{}";
  const Result<Exported> refused = try_export(run_, {.format = ExportFormat::kChrome}, out);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUsage);
  EXPECT_THAT(files_in(out), SizeIs(1));
}

TEST_F(Export, LeavesNothingWhereItFails) {
  write_awkward_trace(run_ / "rank-00000.dprof");
  const Result<Exported> lost = try_export(run_, {}, folder_.path() / "no" / "such" / "out.gz");
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().code, Code::kIo);
  const Result<Exported> unknown = try_export(run_, {.ranks = {4}}, out_);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Code::kNotFound);
  EXPECT_FALSE(fs::exists(out_));
  const Result<Exported> no_steps =
      try_export(run_, {.steps = std::pair<int64_t, int64_t>(50, 60)}, out_);
  ASSERT_FALSE(no_steps.ok());
  EXPECT_EQ(no_steps.error().code, Code::kNotFound);
  EXPECT_THAT(files_in(folder_.path()), ElementsAre(run_));
}

TEST_F(Export, AnyNumberInATraceDoesNoHarm) {
  {
    TraceMaker trace(run_ / "rank-00000.dprof", 0);
    int64_t id = 0;
    for (const int64_t odd : {INT64_MIN, INT64_MAX, int64_t{-1}, int64_t{0}, int64_t{1} << 62}) {
      trace.add(schema::HostRangeRow{.id = id,
                                     .thread_id = odd,
                                     .start_ns = odd,
                                     .duration_ns = odd,
                                     .name_id = odd,
                                     .category = RangeCategory::kApi,
                                     .sequence = odd,
                                     .correlation = odd});
      trace.add(schema::ShapedActivity{.activity = {.id = id++,
                                                    .device_id = odd,
                                                    .stream_id = odd,
                                                    .start_ns = odd,
                                                    .duration_ns = odd,
                                                    .name_id = odd,
                                                    .kind = GpuActivityKind::kKernel,
                                                    .bytes = odd,
                                                    .correlation = odd,
                                                    .graph_node = odd,
                                                    .graph = odd},
                                       .shape = schema::KernelShapeRow{.grid_x = odd}});
      trace.add(schema::CollectiveRow{.id = id,
                                      .communicator_id = odd,
                                      .group_sequence = odd,
                                      .bytes = odd,
                                      .count = odd,
                                      .enqueue_ns = odd,
                                      .start_ns = odd,
                                      .end_ns = odd});
      trace.add(schema::MemoryEventRow{.id = id,
                                       .device_id = odd,
                                       .time_ns = odd,
                                       .kind = schema::MemoryEventKind::kFree,
                                       .address = odd,
                                       .bytes = odd,
                                       .allocated_bytes = odd});
    }
  }
  const Result<analyzer::Run> run = open_run({run_});
  ASSERT_TRUE(run.ok());
  const RankAnalysis rank;  // of rank 0; no clock, no steps
  for (const ExportFormat format :
       {ExportFormat::kPerfetto, ExportFormat::kChrome, ExportFormat::kCsv,
        ExportFormat::kSpeedscope, ExportFormat::kFolded}) {
    const fs::path out = folder_.path() / word_of(format);
    ExportOptions options;
    options.format = format;
    const Result<ExportSummary> done =
        export_run(*run, {.ranks = std::span(&rank, 1)}, options, out);
    ASSERT_TRUE(done.ok()) << word_of(format) << ": " << done.error().what;
    if (format == ExportFormat::kPerfetto) {
      replay(read_all(out));
      ASSERT_FALSE(done->left_out.empty());
      EXPECT_EQ(done->left_out[0].what, "rows from before the recording");
    } else if (format == ExportFormat::kChrome || format == ExportFormat::kSpeedscope) {
      const std::string text = read_all(done->files.at(0));
      EXPECT_TRUE(nlohmann::json::accept(text)) << text;
    }
  }
}

TEST_F(Export, EndsWhereNobodyWantsItAnyMore) {
  write_awkward_trace(run_ / "rank-00000.dprof");
  const Result<analyzer::Run> run = open_run({run_});
  ASSERT_TRUE(run.ok());
  const Result<ExportSummary> stopped =
      export_run(*run, {}, {.format = ExportFormat::kCsv}, folder_.path() / "tables",
                 [](std::string_view, double) { return false; });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().what, "cancelled");
  EXPECT_FALSE(fs::exists(folder_.path() / "tables"));
}

}  // namespace
}  // namespace dprof::analyzer
