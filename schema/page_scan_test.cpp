// SPDX-License-Identifier: Apache-2.0
// PageScan reads what SQLite reads, row for row: in sound files, in odd ones, and in damaged ones
// as far as SQLite reads them.
#include "schema/page_scan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "schema/trace_reader.h"
#include "schema/trace_writer.h"
#include "tests/support/temporary_folder.h"

namespace dprof::schema {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPageBytes = 16384;

const Table& table_named(std::string_view name) {
  return *std::ranges::find(kTables, name, &Table::name);
}

// All columns of one row, as text.
template <typename Source>
std::string row_of(const Source& source, const Table& table) {
  std::string row;
  for (int c = 0; c < static_cast<int>(table.columns.size()); ++c) {
    const Type type = table.columns[static_cast<size_t>(c)].type;
    if (source.is_null(c)) {
      row += "NULL|";
    } else if (type == Type::kText || type == Type::kBlob) {
      row += fmt::format("{}|", source.text(c));
    } else {
      row += fmt::format("{}|", source.integer(c));
    }
  }
  return row;
}

struct Rows {
  std::vector<std::string> rows;
  bool failed = false;
};

Rows by_sql(const Database& database, const Table& table, int64_t skipped = 0) {
  Rows read;
  std::string columns;
  for (const Column& column : table.columns)
    columns += fmt::format("{}{}", columns.empty() ? "" : ", ", column.name);
  Result<Statement> select =
      database.prepare(fmt::format("SELECT {} FROM {} ORDER BY rowid "
                                   "LIMIT -1 OFFSET {}",
                                   columns, table.name, skipped));
  read.failed = !select.ok();
  while (!read.failed) {
    const Result<bool> more = select->step();
    read.failed = !more.ok();
    if (read.failed || !*more) break;
    read.rows.push_back(row_of(*select, table));
  }
  return read;
}

struct Scanned {
  std::vector<std::string> rows;
  bool complete = false;
  int64_t seen = 0;
};

std::optional<Scanned> by_pages(const Database& database, const Table& table) {
  std::optional<PageScan> scan = PageScan::start(database, table, kUserVersion);
  if (!scan) return std::nullopt;
  Scanned read;
  while (scan->next()) read.rows.push_back(row_of(*scan, table));
  read.complete = scan->complete();
  read.seen = scan->seen();
  return read;
}

class PageScanTest : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path file() const { return folder_.path() / "rank-00000.dprof"; }

  // Ranges with numbers of every length, texts, memory events with many NULLs.
  void write(int64_t ranges) const {
    auto writer = *TraceWriter::create(file());
    std::mt19937_64 random(3);
    for (int64_t i = 0; i < ranges; ++i) {
      const auto wide = static_cast<int64_t>(random() >> (random() % 64));
      HostRangeRow row{.id = i * 3,
                       .thread_id = i % 3,
                       .start_ns = i % 2 == 0 ? wide : -wide,
                       .duration_ns = wide / 2,
                       .name_id = writer->intern("range " + std::to_string(i % 700)),
                       .category = static_cast<RangeCategory>(i % 4)};
      if (i % 5 == 0) row.duration_ns.reset();
      if (i % 7 == 0) row.sequence = wide;
      ASSERT_TRUE(writer->append(row).ok());
      if (i % 10 == 0) {
        ASSERT_TRUE(
            writer
                ->append(LoaderEventRow{.id = i + 1,
                                        .start_ns = i,
                                        .batch_shape = std::string(size_t{1} + i % 90, 'x')})
                .ok());
      }
    }
    ASSERT_TRUE(writer->finish().ok());
  }

  void execute(const std::string& sql) const {
    Result<Database> database = Database::open(file(), Database::Mode::kReadWrite);
    ASSERT_TRUE(database.ok());
    const Status done = database->execute(sql);
    ASSERT_TRUE(done.ok()) << done.error().what;
  }

  [[nodiscard]] Database open() const { return *Database::open(file(), Database::Mode::kReadOnly); }

  test_support::TemporaryFolder folder_;
};

TEST_F(PageScanTest, ReadsWhatSqliteReads) {
  write(40'000);  // a root, pages below it, and more than one page of texts
  const Database database = open();
  for (const Table& table : kTables) {
    if (table.name == "meta" || !table.rows_in.empty()) continue;
    const std::optional<Scanned> scanned = by_pages(database, table);
    ASSERT_TRUE(scanned) << table.name;
    EXPECT_TRUE(scanned->complete) << table.name;
    EXPECT_EQ(scanned->rows, by_sql(database, table).rows) << table.name;
  }
  EXPECT_EQ(by_pages(database, table_named("host_range"))->rows.size(), 40'000U);
}

TEST_F(PageScanTest, StopsBeforeARowThatSpillsOver) {
  write(100);
  execute(fmt::format("INSERT INTO string(id, value) VALUES (5000, '{}'), (5001, 'behind')",
                      std::string(3 * kPageBytes, 'x')));
  const Database database = open();
  const Table& strings = table_named("string");
  const std::optional<Scanned> scanned = by_pages(database, strings);
  ASSERT_TRUE(scanned);
  EXPECT_FALSE(scanned->complete);
  std::vector<std::string> rows = scanned->rows;
  const Rows rest = by_sql(database, strings, scanned->seen);
  ASSERT_EQ(rest.rows.size(), 2U) << scanned->seen;
  rows.insert(rows.end(), rest.rows.begin(), rest.rows.end());
  EXPECT_EQ(rows, by_sql(database, strings).rows);
  // TraceReader does the same.
  const Result<TraceReader> reader = TraceReader::open(file());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->string(5000).size(), 3 * kPageBytes);
  EXPECT_EQ(reader->string(5001), "behind");
}

TEST_F(PageScanTest, DeletedAndLaterRowsAreAsSqliteHasThem) {
  write(5000);
  execute(
      "DELETE FROM host_range WHERE id % 9 < 6; "
      "UPDATE host_range SET start_ns = 1 WHERE id % 5 = 0; "
      "INSERT INTO host_range(id, thread_id, start_ns, name_id, category) "
      "VALUES (-7, 1, 2, 3, 0), (9223372036854775807, 1, -9223372036854775808, 3, 0)");
  const Database database = open();
  const Table& ranges = table_named("host_range");
  const std::optional<Scanned> scanned = by_pages(database, ranges);
  ASSERT_TRUE(scanned);
  EXPECT_TRUE(scanned->complete);
  EXPECT_EQ(scanned->rows, by_sql(database, ranges).rows);
  EXPECT_TRUE(scanned->rows.front().starts_with("-7|"));
}

TEST_F(PageScanTest, OnlySqlReadsWhatIsBeingRecorded) {
  auto writer = *TraceWriter::create(file());
  ASSERT_TRUE(writer->append(StepRow{.step_index = 4, .start_ns = 1}).ok());
  ASSERT_TRUE(writer->commit().ok());
  const Database database = open();
  EXPECT_FALSE(by_pages(database, table_named("step")));
  const Result<TraceReader> reader = TraceReader::open(file());
  ASSERT_TRUE(reader.ok());
  const auto steps = reader->read_all<StepRow>();
  ASSERT_TRUE(steps.ok());
  EXPECT_EQ(steps->size(), 1U);
}

TEST_F(PageScanTest, OnlySqlReadsATableThatSomebodyElseMade) {
  for (
      const char* made : {
          "CREATE TABLE step(step_index INTEGER, start_ns INTEGER PRIMARY KEY, end_ns INTEGER, source INTEGER) WITHOUT ROWID",
          "CREATE TABLE step(start_ns INTEGER, step_index INTEGER AS (start_ns + 1), end_ns INTEGER, source INTEGER)",
          "CREATE TABLE step(step_index INTEGER, start_ns INTEGER)",
          "CREATE VIEW step AS SELECT 1 AS step_index, 2 AS start_ns, 3 AS end_ns, 4 AS source",
      }) {
    fs::remove(file());
    write(10);
    execute(fmt::format("DROP VIEW IF EXISTS step_text; DROP TABLE step; {};", made));
    EXPECT_FALSE(by_pages(open(), table_named("step"))) << made;
  }
}

TEST_F(PageScanTest, StopsBeforeAValueOfAnotherType) {
  write(10);
  const Table& loads = table_named("loader_event");
  std::string columns = "id INTEGER PRIMARY KEY";
  for (const Column& column : loads.columns.subspan(1)) columns += fmt::format(", {}", column.name);
  execute(
      fmt::format("DROP VIEW IF EXISTS loader_event_text; DROP TABLE loader_event; "
                  "CREATE TABLE loader_event({})",
                  columns));
  execute("INSERT INTO loader_event(id, start_ns) VALUES (1, 5), (2, 6.5), (3, 7)");
  const std::optional<Scanned> scanned = by_pages(open(), loads);
  ASSERT_TRUE(scanned);
  EXPECT_EQ(scanned->rows.size(), 1U);
  EXPECT_FALSE(scanned->complete);
  EXPECT_EQ(scanned->seen, 1);
}

// Where SQLite reads a damaged table to its end, so does the scan with the SELECT that continues
// it, and the rows are the same. Where SQLite refuses, the scan must not have returned rows that
// SQLite could not reach: they would be taken for sound.
TEST_F(PageScanTest, ReadsOfDamagedFilesWhatSqliteReads) {
  write(6000);
  std::ifstream in(file(), std::ios::binary);
  const std::string sound{std::istreambuf_iterator<char>(in), {}};
  const Table& ranges = table_named("host_range");
  std::mt19937 random(17);
  int whole = 0;
  int refused = 0;
  int scanned_whole = 0;
  constexpr int kRounds = 120;
  for (int round = 0; round < kRounds; ++round) {
    std::string damaged = sound;
    for (size_t hits = 1 + random() % 12; hits > 0; --hits) {
      // Damages headers and cell pointers of pages more often than values.
      const size_t page = 1 + random() % (damaged.size() / kPageBytes - 1);
      const size_t within = random() % (random() % 2 == 0 ? 64 : kPageBytes);
      damaged[page * kPageBytes + within] = static_cast<char>(random());
    }
    std::ofstream(file(), std::ios::binary | std::ios::trunc) << damaged;
    const Result<Database> database = Database::open(file(), Database::Mode::kReadOnly);
    ASSERT_TRUE(database.ok());
    const Rows expected = by_sql(*database, ranges);
    std::optional<Scanned> scanned = by_pages(*database, ranges);
    if (!scanned) continue;
    bool failed = false;
    if (!scanned->complete) {
      Rows rest = by_sql(*database, ranges, scanned->seen);
      failed = rest.failed;
      scanned->rows.insert(scanned->rows.end(), rest.rows.begin(), rest.rows.end());
    }
    scanned_whole += scanned->complete ? 1 : 0;
    if (expected.failed) {
      ++refused;
      EXPECT_TRUE(failed) << "round " << round << ": SQLite refuses after " << expected.rows.size()
                          << " rows, the scan gave " << scanned->rows.size();
    } else {
      ++whole;
      EXPECT_FALSE(failed) << "round " << round;
      EXPECT_TRUE(scanned->rows == expected.rows) << "round " << round;
    }
  }
  EXPECT_GT(whole, kRounds / 10);
  EXPECT_GT(refused, kRounds / 10);
  EXPECT_GT(scanned_whole, kRounds / 30);
}

}  // namespace
}  // namespace dprof::schema
