// SPDX-License-Identifier: Apache-2.0
// The reader reads what the writer writes; every kind of bad file is refused with the right code.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "schema/ddl.h"
#include "schema/packed_collective.h"
#include "schema/trace_reader.h"
#include "schema/trace_writer.h"
#include "tests/support/temporary_folder.h"

namespace dprof::schema {
namespace {

namespace fs = std::filesystem;

class TraceTest : public ::testing::Test {
 protected:
  fs::path path(std::string_view name = "rank-00000.dprof") const { return folder_.path() / name; }

  // A small whole trace.
  void write_small() {
    auto writer = *TraceWriter::create(path());
    writer->set_meta("rank", "0");
    for (int64_t i = 0; i < 100; ++i) {
      ASSERT_TRUE(
          writer
              ->append(HostRangeRow{
                  .id = i, .start_ns = i, .duration_ns = 1, .name_id = writer->intern("op")})
              .ok());
    }
    ASSERT_TRUE(writer->finish().ok());
  }

  Code open_error(const fs::path& file) const {
    const Result<TraceReader> reader = TraceReader::open(file);
    EXPECT_FALSE(reader.ok());
    if (reader.ok()) return Code::kInternal;
    EXPECT_NE(reader.error().what.find(file.filename().string()), std::string::npos)
        << reader.error().what;
    EXPECT_FALSE(reader.error().hint.empty());
    return reader.error().code;
  }

  test_support::TemporaryFolder folder_;
};

class RandomFields {
 public:
  void operator()(int64_t& field) { field = static_cast<int64_t>(random_()); }
  void operator()(std::string& field) { field = "text " + std::to_string(random_()); }
  void operator()(std::optional<int64_t>& field) {
    if (random_() % 3 != 0) field = static_cast<int64_t>(random_());
  }
  void operator()(std::optional<std::string>& field) {
    if (random_() % 3 != 0) field = std::string("by\0tes", 6) + std::to_string(random_());
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void operator()(Enum& field) {
    field = static_cast<Enum>(1);  // every enumeration has a 1
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void operator()(std::optional<Enum>& field) {
    if (random_() % 3 != 0) field = static_cast<Enum>(1);
  }

 private:
  std::mt19937_64 random_{11};
};

// Random rows of every table: more than one INSERT holds, and not a multiple of it.
TEST_F(TraceTest, EveryTableRoundTrips) {
  for_each_row_type([&]<typename Row>() {
    if constexpr (!std::is_same_v<Row, MetaRow> && !std::is_same_v<Row, StringRow> &&
                  !std::is_same_v<Row, KernelShapeRow>) {  // which comes with its kernel
      RandomFields fill;
      std::vector<Row> rows(37);
      for (size_t i = 0; i < rows.size(); ++i) {
        for_each_field(rows[i], fill);
        if constexpr (requires { rows[i].id; }) rows[i].id = static_cast<int64_t>(i);
      }
      const fs::path file = path(std::string(Row::kTable.name) + ".dprof");
      auto writer = *TraceWriter::create(file);
      for (const Row& row : rows) ASSERT_TRUE(writer->append(row).ok()) << Row::kTable.name;
      ASSERT_TRUE(writer->finish().ok());
      const auto reader = TraceReader::open(file);
      ASSERT_TRUE(reader.ok()) << reader.error().what;
      const auto read = reader->read_all<Row>();
      ASSERT_TRUE(read.ok()) << read.error().what;
      EXPECT_TRUE(*read == rows) << Row::kTable.name;
    }
  });
}

// SQL that makes a table, as `version` had it, in place of the view of today.
std::string view_to_table(const Table& table, int version) {
  std::string columns;
  for (const Column& column : table.columns) {
    if (column.since > version) continue;
    columns += fmt::format("{}{}", columns.empty() ? "" : ", ", column.name);
    if (column.name == table.key) columns += " INTEGER PRIMARY KEY";
  }
  return fmt::format("DROP VIEW \"{0}\"; CREATE TABLE \"{0}\" ({1});", table.name, columns);
}

// Turns a new file into one of an older version: without later tables and columns, and with tables
// where there are views now.
void make_older(const fs::path& file, int version) {
  Database database = *Database::open(file, Database::Mode::kReadWrite);
  const auto execute = [&](const std::string& sql) {
    const Status done = database.execute(sql);
    ASSERT_TRUE(done.ok()) << done.error().what;
  };
  for (const Table& table : kTables)
    execute(fmt::format("DROP VIEW IF EXISTS \"{}_text\"", table.name));
  for (const Table& table : kTables) {
    if (table.since > version) {
      execute(fmt::format("DROP {} \"{}\"", table.rows_in.empty() ? "TABLE" : "VIEW", table.name));
    } else if (!table.rows_in.empty()) {
      execute(view_to_table(table, version));
    } else {
      for (const Column& column : table.columns) {
        if (column.since <= version) continue;
        execute(fmt::format("ALTER TABLE \"{}\" DROP COLUMN \"{}\"", table.name, column.name));
      }
    }
  }
  for (const Table& table : kTablesBehindViews)
    execute(fmt::format("DROP TABLE \"{}\"", table.name));
  execute(fmt::format("PRAGMA user_version = {}", version));
}

// What version 1 could not contain is empty, and the rest is read as usual.
TEST_F(TraceTest, FilesOfVersion1AreRead) {
  ASSERT_TRUE((*TraceWriter::create(path()))->finish().ok());
  make_older(path(), 1);
  ASSERT_TRUE(
      Database::open(path(), Database::Mode::kReadWrite)
          ->execute(
              "INSERT INTO collective (id, function, dtype, reduction, state, captured) VALUES (7, 1, 8, 1, 2, 0)")
          .ok());
  const auto reader = TraceReader::open(path());
  ASSERT_TRUE(reader.ok()) << reader.error().what;
  const auto collectives = *reader->read_all<CollectiveRow>();
  ASSERT_EQ(collectives.size(), 1u);
  EXPECT_EQ(collectives[0].id, 7);
  EXPECT_EQ(collectives[0].ready_ns, std::nullopt);
  EXPECT_EQ(collectives[0].source, std::nullopt);
  EXPECT_TRUE(reader->read_all<CaptureRow>()->empty());
  EXPECT_EQ(*reader->count("capture"), 0);
}

// Removes what was added after `version`, 3 or later: before, collectives were no view.
void make_slightly_older(const fs::path& file, int version) {
  Database database = *Database::open(file, Database::Mode::kReadWrite);
  std::string sql = fmt::format("PRAGMA user_version = {};", version);
  const auto without_later_columns = [&](const Table& table) {
    for (const Column& column : table.columns) {
      if (column.since > version)
        sql += fmt::format("ALTER TABLE \"{}\" DROP COLUMN \"{}\";", table.name, column.name);
    }
  };
  for (const Table& table : kTables)
    sql += fmt::format("DROP VIEW IF EXISTS \"{}_text\";", table.name);
  for (const Table& table : kTables) {
    const bool was_view = is_view(table, version);
    if (table.since > version) {
      sql += fmt::format("DROP TABLE \"{}\";", table.name);
    } else if (!table.rows_in.empty() && !was_view) {
      sql += view_to_table(table, version);
    } else if (table.rows_in.empty()) {
      without_later_columns(table);
    }
  }
  // The view of collectives reads what is removed, and was another one.
  sql += "DROP VIEW collective;";
  for (const Table& table : kTablesBehindViews) {
    if (table.since > version) {
      sql += fmt::format("DROP TABLE \"{}\";", table.name);
    } else {
      without_later_columns(table);
    }
  }
  std::string view = create_collective_view();
  const std::string_view derived =
      "CASE WHEN t.bytes_per_count IS NULL THEN r.bytes ELSE r.count * t.bytes_per_count END";
  const size_t at = view.find(derived);
  ASSERT_NE(at, std::string::npos);
  sql += view.replace(at, derived.size(), "r.bytes");
  const Status done = database.execute(sql);
  ASSERT_TRUE(done.ok()) << done.error().what;
}

// Such a file is also added to, by `dprof import --into`.
TEST_F(TraceTest, FilesOfVersion6HaveARowForEachKernelAndItsShape) {
  ASSERT_TRUE((*TraceWriter::create(path()))->finish().ok());
  make_slightly_older(path(), 6);
  const GpuActivityRow kernel{.id = 1,
                              .device_id = 2,
                              .stream_id = 3,
                              .start_ns = 4,
                              .duration_ns = 5,
                              .name_id = 6,
                              .kind = GpuActivityKind::kKernel,
                              .correlation = 7};
  const KernelShapeRow shape{.activity_id = 1, .grid_x = 8, .block_x = 9};
  const CollectiveRow collective{.id = 1,
                                 .bytes = 4000,
                                 .count = 1000,
                                 .dtype = DataType::kFloat32,
                                 .enqueue_ns = 5,
                                 .end_ns = 6};
  {
    auto writer = *TraceWriter::reopen(path());
    ASSERT_TRUE(writer->append(ShapedActivity{kernel, shape}).ok());
    ASSERT_TRUE(writer->append(collective).ok());
    ASSERT_TRUE(writer->finish().ok());
  }
  const auto reader = TraceReader::open(path());
  ASSERT_TRUE(reader.ok()) << reader.error().what;
  EXPECT_TRUE(*reader->read_all<GpuActivityRow>() == std::vector{kernel});
  EXPECT_TRUE(*reader->read_all<GpuActivityRow>("kind = 0") == std::vector{kernel});
  EXPECT_TRUE(*reader->read_all<KernelShapeRow>() == std::vector{shape});
  EXPECT_TRUE(*reader->read_all<CollectiveRow>() == std::vector{collective});
  EXPECT_TRUE(*reader->read_all<CollectiveRow>("id = 1") == std::vector{collective});
}

TEST_F(TraceTest, FilesOfVersion5HaveARowForEachMember) {
  ASSERT_TRUE((*TraceWriter::create(path()))->finish().ok());
  make_slightly_older(path(), 5);
  {
    auto writer = *TraceWriter::reopen(path());
    for (int64_t member = 0; member < 3; ++member)
      ASSERT_TRUE(writer->append(CommunicatorMemberRow{1, member, 2 * member}).ok());
    ASSERT_TRUE(writer->finish().ok());
  }
  const auto reader = TraceReader::open(path());
  ASSERT_TRUE(reader.ok()) << reader.error().what;
  EXPECT_TRUE(*reader->read_all<CommunicatorMemberRow>() ==
              (std::vector<CommunicatorMemberRow>{{1, 0, 0}, {1, 1, 2}, {1, 2, 4}}));
}

TEST_F(TraceTest, FilesOfVersion4HaveNoStacksOfAllocations) {
  {
    auto writer = *TraceWriter::create(path());
    ASSERT_TRUE(writer->append(MemoryEventRow{.id = 1, .bytes = 512, .stack_id = 3}).ok());
    ASSERT_TRUE(writer->append(MemorySampleRow{.id = 1, .largest_free_bytes = 3}).ok());
    ASSERT_TRUE(writer->append(CallStackRow{.id = 1}).ok());
    ASSERT_TRUE(writer->finish().ok());
  }
  make_slightly_older(path(), 4);
  const auto reader = TraceReader::open(path());
  ASSERT_TRUE(reader.ok()) << reader.error().what;
  EXPECT_TRUE(reader->read_all<CallStackRow>()->empty());
  const auto events = *reader->read_all<MemoryEventRow>();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].bytes, 512);
  EXPECT_EQ(events[0].stack_id, std::nullopt);
  EXPECT_EQ(reader->read_all<MemorySampleRow>()->at(0).largest_free_bytes, std::nullopt);
}

TEST_F(TraceTest, FilesOfVersion3HaveNoStacks) {
  ASSERT_TRUE((*TraceWriter::create(path()))->finish().ok());
  make_slightly_older(path(), 3);
  const auto reader = TraceReader::open(path());
  ASSERT_TRUE(reader.ok()) << reader.error().what;
  EXPECT_TRUE(reader->read_all<StackFrameRow>()->empty());
}

TEST_F(TraceTest, OneThatIsSaidToBeSmallIsSmallAtOnce) {
  using Writer = TraceWriter;
  {
    const auto writer = *Writer::create(path(), Writer::Journal::kNone, Writer::Size::kSmall);
    ASSERT_TRUE(writer->finish().ok());
  }
  const auto small = std::filesystem::file_size(path());
  std::filesystem::remove(path());
  ASSERT_TRUE((*Writer::create(path(), Writer::Journal::kNone))->finish().ok());
  EXPECT_NEAR(static_cast<double>(small), static_cast<double>(std::filesystem::file_size(path())),
              2048);
}

TEST_F(TraceTest, AnEmptyTraceIsSmallAndASmallOneKeepsItsRows) {
  ASSERT_TRUE((*TraceWriter::create(path()))->finish().ok());
  EXPECT_LT(std::filesystem::file_size(path()), 100'000U);
  std::filesystem::remove(path());
  Result<std::unique_ptr<TraceWriter>> writer = TraceWriter::create(path());
  ASSERT_TRUE(writer.ok());
  constexpr int64_t kRows = 1000;
  const std::string long_name(5000, 'x');  // more than a page
  for (int64_t i = 0; i < kRows; ++i)
    ASSERT_TRUE((*writer)->append(LossRow{.thread_id = 1, .count = i}).ok());
  (*writer)->set_meta("command", long_name);
  ASSERT_TRUE((*writer)->finish().ok());
  EXPECT_LT(std::filesystem::file_size(path()), 200'000U);
  Result<TraceReader> reader = TraceReader::open(path());
  ASSERT_TRUE(reader.ok());
  int64_t sum = 0;
  ASSERT_TRUE(reader->for_each<LossRow>([&](const LossRow& row) { sum += row.count; }).ok());
  EXPECT_EQ(sum, kRows * (kRows - 1) / 2);
  EXPECT_EQ(reader->meta("command"), long_name);
}

// Version 2 had a plain table `collective`. Such a trace can be finished, too, if its recorder was
// killed.
TEST_F(TraceTest, FilesOfVersion2AreReadAndFinished) {
  ASSERT_TRUE((*TraceWriter::create(path()))->finish().ok());
  make_older(path(), 2);
  ASSERT_TRUE(
      Database::open(path(), Database::Mode::kReadWrite)
          ->execute(
              "INSERT INTO collective (id, function, dtype, reduction, enqueue_ns, end_ns, state, captured, ready_ns, source) "
              "VALUES (9, 1, 8, 1, 100, 250, 3, 0, 90, 4), "
              "(3, 1, 8, 1, 10, NULL, 2, 0, NULL, NULL)")
          .ok());
  auto writer = *TraceWriter::reopen(path());
  writer->set_meta("ended", "recovered");
  ASSERT_TRUE(writer->append(LossRow{.count = 1}).ok());
  ASSERT_TRUE(writer->finish().ok());
  const auto reader = TraceReader::open(path());
  ASSERT_TRUE(reader.ok()) << reader.error().what;
  const auto collectives = *reader->read_all<CollectiveRow>();
  ASSERT_EQ(collectives.size(), 2u);
  EXPECT_EQ(collectives[0].id, 3) << "in order of ids";
  EXPECT_EQ(collectives[1].end_ns, 250);
  EXPECT_EQ(collectives[1].ready_ns, 90);
  EXPECT_TRUE(reader->read_all<NcclEventRow>()->empty());
  const auto database = Database::open(path(), Database::Mode::kReadOnly);
  EXPECT_EQ(*database->query_text("SELECT function FROM collective_text WHERE id = 9"),
            "all_reduce");
  EXPECT_EQ(
      *database->query_int("SELECT count(*) FROM sqlite_master WHERE name = 'nccl_event_text'"), 0);
}

TEST_F(TraceTest, OpenRowsAreCompletedLater) {
  auto writer = *TraceWriter::create(path());
  ASSERT_TRUE(writer->append(HostRangeRow{.id = 1, .start_ns = 5}).ok());
  ASSERT_TRUE(writer->append(CollectiveRow{.id = 1, .enqueue_ns = 7}).ok());
  ASSERT_TRUE(writer->append(ThreadRow{.id = 1, .os_tid = 42}).ok());
  ASSERT_TRUE(writer->commit().ok());
  {
    const auto live = TraceReader::open(path());  // while it is being written
    ASSERT_TRUE(live.ok()) << live.error().what;
    EXPECT_EQ((*live->read_all<HostRangeRow>())[0].duration_ns, std::nullopt);
  }
  ASSERT_TRUE(writer->close_range(1, 10).ok());
  ASSERT_TRUE(writer
                  ->update_collective({.id = 1,
                                       .enqueue_ns = 7,
                                       .start_ns = 8,
                                       .end_ns = 9,
                                       .state = CollectiveState::kComplete})
                  .ok());
  ASSERT_TRUE(writer->set_thread({.id = 1, .os_tid = 42, .role = ThreadRole::kMain}).ok());
  ASSERT_TRUE(writer->finish().ok());

  const auto reader = TraceReader::open(path());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader->read_all<HostRangeRow>())[0].duration_ns, 10);
  const CollectiveRow collective = (*reader->read_all<CollectiveRow>())[0];
  EXPECT_EQ(collective.enqueue_ns, 7);
  EXPECT_EQ(collective.end_ns, 9);
  EXPECT_EQ((*reader->read_all<ThreadRow>())[0].role, ThreadRole::kMain);
}

TEST_F(TraceTest, TextsMetaAndViews) {
  auto writer = *TraceWriter::create(path());
  EXPECT_EQ(writer->intern(""), 0);
  const int64_t id = writer->intern("gloo:all_reduce");
  EXPECT_EQ(writer->intern("gloo:all_reduce"), id);
  writer->set_meta("rank", "3");
  writer->set_meta("rank", "4");
  ASSERT_TRUE(writer
                  ->append(HostRangeRow{
                      .id = 1, .start_ns = 5, .name_id = id, .category = RangeCategory::kUser})
                  .ok());
  ASSERT_TRUE(writer->finish().ok());

  const auto reader = TraceReader::open(path());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->string(id), "gloo:all_reduce");
  EXPECT_EQ(reader->string(99), "");
  EXPECT_EQ(reader->meta_int("rank"), 4);
  EXPECT_EQ(reader->meta("host"), std::nullopt);
  const auto database = Database::open(path(), Database::Mode::kReadOnly);
  EXPECT_EQ(*database->query_text("SELECT category || ' ' || name FROM host_range_text"),
            "user gloo:all_reduce");
  EXPECT_FALSE(fs::exists(path("rank-00000.dprof-wal"))) << "one plain file must remain";
}

TEST_F(TraceTest, AReaderDoesNotKeepTheTraceFromBeingFinished) {
  auto writer = *TraceWriter::create(path());
  ASSERT_TRUE(writer->append(HostRangeRow{.id = 1}).ok());
  ASSERT_TRUE(writer->commit().ok());
  {
    const auto reader = *Database::open(path(), Database::Mode::kReadOnly);
    Statement reading = *reader.prepare("SELECT id FROM host_range");
    ASSERT_TRUE(*reading.step()) << "a read transaction is open from here on";
    writer->set_meta("ended", "complete");
    const Result<bool> plain = writer->finish();
    ASSERT_TRUE(plain.ok()) << plain.error().what;
    EXPECT_FALSE(*plain);
  }
  writer.reset();
  const auto reader = TraceReader::open(path());
  ASSERT_TRUE(reader.ok()) << reader.error().what;
  EXPECT_EQ(reader->meta("ended"), "complete");
}

TEST_F(TraceTest, ReopenedTraceGoesOnAndIsFinished) {
  {
    auto writer = *TraceWriter::create(path());
    writer->intern("first");
    ASSERT_TRUE(writer->append(HostRangeRow{.id = 1}).ok());
    ASSERT_TRUE(writer->commit().ok());
  }
  auto writer = *TraceWriter::reopen(path());
  const int64_t first = writer->intern("first");
  EXPECT_GT(writer->intern("second"), first);
  writer->set_meta("ended", "recovered");
  ASSERT_TRUE(writer->finish().ok());
  const auto reader = TraceReader::open(path());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(*reader->count("host_range"), 1);
  EXPECT_EQ(reader->string(first), "first");
}

TEST_F(TraceTest, RefusesToOverwrite) {
  write_small();
  EXPECT_FALSE(TraceWriter::create(path()).ok());
}

TEST_F(TraceTest, BadFilesAreRefusedWithTheRightCode) {
  EXPECT_EQ(open_error(path("absent.dprof")), Code::kNotFound);
  { const std::ofstream empty(path("empty.dprof")); }
  EXPECT_EQ(open_error(path("empty.dprof")), Code::kNotATrace);
  std::ofstream(path("text.dprof"))
      << "this is a text file, long enough to have a header of a hundred bytes or so, which SQLite looks at before it says no.\n";
  EXPECT_EQ(open_error(path("text.dprof")), Code::kNotATrace);
  EXPECT_EQ(open_error(folder_.path()), Code::kNotATrace);

  auto foreign = *Database::open(path("foreign.dprof"), Database::Mode::kCreate);
  ASSERT_TRUE(foreign.execute("CREATE TABLE t (x)").ok());
  EXPECT_EQ(open_error(path("foreign.dprof")), Code::kNotATrace);
}

TEST_F(TraceTest, NewerDamagedAndTruncatedFilesAreRefused) {
  write_small();
  const auto changed = [&](std::string_view name, const std::string& sql) {
    fs::copy_file(path(), path(name));
    auto database = *Database::open(path(name), Database::Mode::kReadWrite);
    EXPECT_TRUE(database.execute(sql).ok());
    return path(name);
  };
  EXPECT_EQ(open_error(changed("newer.dprof", "PRAGMA user_version = 99")), Code::kTraceTooNew);
  EXPECT_EQ(open_error(changed(
                "column.dprof",
                "DROP VIEW host_range_text; ALTER TABLE host_range RENAME COLUMN name_id TO n")),
            Code::kDamaged);
  EXPECT_EQ(open_error(changed("table.dprof", "DROP VIEW step_text; DROP TABLE step")),
            Code::kDamaged);
  // A column that this dprof does not know is not an error: contracts grow.
  EXPECT_TRUE(
      TraceReader::open(changed("more.dprof", "ALTER TABLE step ADD COLUMN later INTEGER")).ok());

  fs::copy_file(path(), path("cut.dprof"));
  fs::resize_file(path("cut.dprof"), fs::file_size(path()) / 3);
  EXPECT_EQ(open_error(path("cut.dprof")), Code::kDamaged);
}

TEST_F(TraceTest, TheFirstFailureStays) {
  auto writer = *TraceWriter::create(path());
  Status status = Done{};
  for (int i = 0; status.ok() && i < 10; ++i) status = writer->append(HostRangeRow{.id = 1});
  if (status.ok()) status = writer->commit();
  ASSERT_FALSE(status.ok()) << "the same id twice must fail";
  EXPECT_FALSE(writer->append(HostRangeRow{.id = 2}).ok());
  EXPECT_FALSE(writer->commit().ok());
}

}  // namespace
}  // namespace dprof::schema
