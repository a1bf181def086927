// SPDX-License-Identifier: Apache-2.0
#include "schema/read_query.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "schema/trace_writer.h"

namespace dprof::schema {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class ReadQueryTest : public ::testing::Test {
 protected:
  ReadQueryTest() : folder(fs::path(::testing::TempDir()) / fmt::format("query{}", getpid())) {
    fs::create_directories(folder);
    file = folder / "rank-00000.dprof";
    auto writer = *TraceWriter::create(file);
    for (int64_t i = 1; i <= 3; ++i) {
      const int64_t name = writer->intern("range " + std::to_string(i));
      EXPECT_TRUE(
          writer
              ->append(HostRangeRow{
                  .id = i, .thread_id = 1, .start_ns = i * 10, .duration_ns = 5, .name_id = name})
              .ok());
    }
    EXPECT_TRUE(writer->append(CollectiveRow{.id = 7, .start_ns = 20, .end_ns = 30}).ok());
    writer->set_meta("rank", "0");
    EXPECT_TRUE(writer->finish().ok());
  }
  ~ReadQueryTest() override { fs::remove_all(folder); }

  ReadQuery query() {
    Result<ReadQuery> opened = ReadQuery::open(file);
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().what);
    return *std::move(opened);
  }
  // The error reported instead of an answer; "" = there was an answer.
  std::string refusal(std::string_view text) {
    ReadQuery asked = query();
    if (const Status prepared = asked.prepare(text); !prepared.ok()) return prepared.error().what;
    const Result<bool> stepped = asked.step();
    return stepped.ok() ? std::string() : stepped.error().what;
  }

  fs::path folder;
  fs::path file;
};

TEST_F(ReadQueryTest, ValuesHaveTheirTypes) {
  ReadQuery asked = query();
  ASSERT_TRUE(asked.prepare("SELECT NULL, 7, 0.5, 'text', x'0102' -- done\n;  ").ok());
  ASSERT_TRUE(*asked.step());
  std::vector<SqlValue> values;
  for (int c = 0; c < 5; ++c) values.push_back(asked.value(c));
  EXPECT_THAT(values, ElementsAre(SqlValue(), SqlValue(int64_t{7}), SqlValue(0.5),
                                  SqlValue(std::string("text")), SqlValue(SqlBlob{2})));
  EXPECT_FALSE(*asked.step());
}

TEST_F(ReadQueryTest, ColumnsTellWhereTheyComeFrom) {
  ReadQuery asked = query();
  ASSERT_TRUE(
      asked
          .prepare(
              "SELECT h.id AS range, c.id, h.start_ns + 1 AS later FROM host_range h, collective c")
          .ok());
  const std::vector<QueryColumn> columns = asked.columns();
  ASSERT_EQ(columns.size(), 3U);
  EXPECT_EQ(columns[0].name, "range");
  EXPECT_EQ(columns[0].table, "host_range");
  EXPECT_EQ(columns[0].origin, "id");
  EXPECT_EQ(columns[1].table, "_collective") << "what lies behind the view";
  EXPECT_EQ(columns[2].table, "");
}

TEST_F(ReadQueryTest, NothingIsWrittenAndNoOtherFileReached) {
  const std::string before = bytes_of(file);
  const std::string other = (folder / "other.db").string();
  for (const std::string& text : {std::string("DELETE FROM host_range"),
                                  std::string("DROP TABLE host_range"),
                                  std::string("INSERT INTO string VALUES (99, 'x')"),
                                  std::string("CREATE TEMP TABLE t(a)"),
                                  std::string("CREATE TABLE t(a)"),
                                  std::string("UPDATE meta SET value = 'x'"),
                                  std::string("UPDATE sqlite_master SET sql = 'x'"),
                                  "ATTACH '" + other + "' AS other",
                                  "VACUUM INTO '" + other + "'",
                                  std::string("VACUUM"),
                                  std::string("REINDEX"),
                                  std::string("ANALYZE"),
                                  std::string("BEGIN"),
                                  std::string("SAVEPOINT s"),
                                  std::string("PRAGMA journal_mode = WAL"),
                                  std::string("PRAGMA journal_mode"),
                                  std::string("PRAGMA user_version = 9"),
                                  std::string("PRAGMA writable_schema = 1"),
                                  std::string("PRAGMA temp_store_directory = '/'"),
                                  std::string("SELECT load_extension('x')"),
                                  std::string("EXPLAIN DELETE FROM host_range"),
                                  std::string("WITH a AS (SELECT 1) DELETE FROM host_range"),
                                  std::string("SELECT * FROM pragma_journal_mode")}) {
    EXPECT_NE(refusal(text), "") << text;
  }
  EXPECT_THAT(refusal("DELETE FROM host_range"), HasSubstr("only reading is possible"));
  EXPECT_FALSE(fs::exists(other));
  EXPECT_EQ(bytes_of(file), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  for (const char* text :
       {"PRAGMA table_info(host_range)", "PRAGMA user_version", "EXPLAIN QUERY PLAN SELECT 1",
        "SELECT name FROM pragma_table_info('host_range')", "SELECT name FROM sqlite_schema",
        "SELECT value FROM json_each('[1]')", "SELECT * FROM host_range_text", "VALUES (1)"})
    EXPECT_EQ(refusal(text), "") << text;
}

TEST_F(ReadQueryTest, ExactlyOneStatementAndWhereItIsWrong) {
  ReadQuery asked = query();
  EXPECT_FALSE(asked.prepare("SELECT 1; DROP TABLE host_range").ok());
  EXPECT_EQ(asked.error_offset(), 10U) << "where the second begins";
  EXPECT_FALSE(asked.prepare("SELECT 1; nonsense").ok());
  EXPECT_FALSE(asked.prepare("-- nothing").ok());
  EXPECT_FALSE(asked.prepare("").ok());
  const Status wrong = asked.prepare("SELECT id, strat_ns FROM host_range");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, Code::kUsage);
  EXPECT_THAT(wrong.error().what, HasSubstr("strat_ns"));
  EXPECT_EQ(asked.error_offset(), 11U);
  ASSERT_TRUE(asked.prepare("SELECT count(*) FROM host_range;;").ok());
  EXPECT_FALSE(asked.error_offset());
  ASSERT_TRUE(*asked.step());
  EXPECT_EQ(asked.value(0), SqlValue(int64_t{3}));
}

TEST_F(ReadQueryTest, AStatementThatIsNoLongerWantedEnds) {
  int asked_for = 0;
  Result<ReadQuery> asked = ReadQuery::open(file, [&] { return ++asked_for > 3; });
  ASSERT_TRUE(asked.ok());
  ASSERT_TRUE(
      asked
          ->prepare(
              "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
          .ok());
  EXPECT_FALSE(asked->step().ok());
  EXPECT_EQ(asked_for, 4);
}

TEST_F(ReadQueryTest, WhatIsNoDatabaseAnswersNothing) {
  fs::resize_file(file, 50);
  const auto cut_off = ReadQuery::open(file);
  ASSERT_FALSE(cut_off.ok());
  EXPECT_EQ(cut_off.error().code, Code::kNotATrace);
  const auto gone = ReadQuery::open(folder / "gone.dprof");
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code, Code::kNotFound);
  EXPECT_THAT(gone.error().what, HasSubstr("gone.dprof"));
}

TEST_F(ReadQueryTest, AValueIsNeverHuge) {
  ReadQuery asked = query();
  ASSERT_TRUE(asked.prepare("SELECT length(hex(randomblob(12000000)))").ok());
  const Result<bool> stepped = asked.step();
  ASSERT_FALSE(stepped.ok());
  EXPECT_EQ(stepped.error().code, Code::kUsage);
}

}  // namespace
}  // namespace dprof::schema
