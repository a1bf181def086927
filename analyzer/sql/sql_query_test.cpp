// SPDX-License-Identifier: Apache-2.0
#include "analyzer/sql/sql_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/run_builder.h"
#include "tests/support/temporary_folder.h"

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SqlQueryTest : public ::testing::Test {
 protected:
  SqlQueryTest() {
    test_support::RunSpec spec;
    spec.ranks = 3;
    EXPECT_TRUE(test_support::write_run(folder.path() / "run", spec).ok());
    const auto run = open_run({folder.path() / "run"});
    EXPECT_TRUE(run.ok());
    traces = run->traces;
  }
  SqlResult ask(std::string_view text, const SqlLimits& limits = {}) {
    SqlAnswer answer = run_sql(traces, text, limits);
    const auto* error = std::get_if<SqlError>(&answer);
    EXPECT_EQ(error, nullptr) << error->error.what;
    return error ? SqlResult() : std::get<SqlResult>(std::move(answer));
  }
  SqlError error_of(std::string_view text) {
    const SqlAnswer answer = run_sql(traces, text);
    const auto* error = std::get_if<SqlError>(&answer);
    EXPECT_NE(error, nullptr) << text;
    return error ? *error : SqlError();
  }

  test_support::TemporaryFolder folder;
  std::vector<TraceFile> traces;
};

std::vector<int> ranks_of(const SqlResult& result) {
  std::vector<int> ranks;
  for (const auto& row : result.rows) ranks.push_back(rank_of(row));
  return ranks;
}

TEST_F(SqlQueryTest, EachRankAnswersWithItsNumberInFront) {
  const SqlResult result =
      ask("SELECT step_index AS step, start_ns, NULL AS absent FROM step ORDER BY 1 LIMIT 2");
  ASSERT_THAT(result.columns, SizeIs(4));
  EXPECT_EQ(result.columns[0].name, "rank");
  EXPECT_EQ(result.columns[1].name, "step");
  EXPECT_THAT(ranks_of(result), ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_EQ(result.rows[3][1], SqlValue(int64_t{1}));
  EXPECT_EQ(result.rows[3][3], SqlValue());
  EXPECT_THAT(result.ranks, ElementsAre(0, 1, 2));
  EXPECT_FALSE(result.more);
  EXPECT_THAT(result.left_out, IsEmpty());
}

TEST_F(SqlQueryTest, WhatIsCutIsSaid) {
  const SqlResult few = ask("SELECT id FROM host_range", {.rows = 10});
  EXPECT_THAT(few.rows, SizeIs(10));
  EXPECT_TRUE(few.more);
  EXPECT_THAT(few.ranks, ElementsAre(0));
  ASSERT_THAT(few.left_out, SizeIs(2));
  EXPECT_THAT(few.left_out[1].why, HasSubstr("not reached"));
  const SqlResult exact = ask("SELECT 1 UNION ALL SELECT 2", {.rows = 6});
  EXPECT_THAT(exact.rows, SizeIs(6));
  EXPECT_FALSE(exact.more) << "there are no others";
  const SqlResult small = ask("SELECT hex(zeroblob(5000)) FROM host_range", {.bytes = 50'000});
  EXPECT_LE(small.rows.size(), 6U);
  EXPECT_TRUE(small.more);
}

TEST_F(SqlQueryTest, ColumnsThatNameRowsOfTheTimeline) {
  const auto rows_of = [&](std::string_view text) {
    std::vector<std::string> tables;
    for (const SqlColumn& column : ask(text).columns) tables.push_back(column.rows_of);
    return tables;
  };
  EXPECT_THAT(
      rows_of(
          "SELECT h.id, h.start_ns, max(c.id), c.id AS other FROM host_range h, collective c LIMIT 1"),
      ElementsAre("", "host_range", "", "", "collective"));
  EXPECT_THAT(rows_of("SELECT rowid, thread_id FROM host_range LIMIT 1"),
              ElementsAre("", "host_range", ""))
      << "threads are not its rows";
  EXPECT_THAT(rows_of("SELECT id, name FROM host_range_text LIMIT 1"),
              ElementsAre("", "host_range", ""));
  EXPECT_THAT(rows_of("SELECT range_id FROM range_detail LIMIT 1"), ElementsAre("", "host_range"));
  EXPECT_THAT(
      rows_of(
          "SELECT id FROM (SELECT id FROM host_range LIMIT 1) UNION ALL SELECT id FROM collective LIMIT 1"),
      ElementsAre("", ""))
      << "which of the two?";
}

TEST_F(SqlQueryTest, ErrorsHaveAPlaceInTheText) {
  const SqlError unknown = error_of("SELECT id, strat_ns FROM step");
  EXPECT_THAT(unknown.error.what, HasSubstr("id"));
  EXPECT_EQ(unknown.offset, 7U) << "step has no id";
  EXPECT_EQ(error_of("SELECT step_index,\n strat_ns FROM step").offset, 20U);
  EXPECT_FALSE(error_of("-- only a comment").offset);
  EXPECT_THAT(error_of("SELECT abs(-9223372036854775807 - 1)").error.what, HasSubstr("overflow"));
}

TEST_F(SqlQueryTest, NothingIsWritten) {
  for (const char* text :
       {"DELETE FROM step", "ATTACH '/tmp/x.db' AS x", "PRAGMA journal_mode = DELETE",
        "SELECT 1; DROP TABLE step", "CREATE TABLE t(a)"})
    EXPECT_FALSE(error_of(text).error.what.empty()) << text;
  EXPECT_EQ(ask("SELECT count(*) FROM step").rows[0][1], SqlValue(int64_t{30}));
}

TEST_F(SqlQueryTest, ADamagedTraceLeavesTheOthers) {
  std::filesystem::resize_file(traces[1].path, 50);
  std::filesystem::remove(traces[2].path);
  const SqlResult result = ask("SELECT count(*) FROM step");
  EXPECT_THAT(ranks_of(result), ElementsAre(0));
  ASSERT_THAT(result.left_out, SizeIs(2));
  EXPECT_EQ(result.left_out[0].rank, 1);
  EXPECT_THAT(result.left_out[0].why, HasSubstr("rank-00001.dprof"));
  std::filesystem::remove(traces[0].path);
  EXPECT_EQ(error_of("SELECT 1").error.code, Code::kNotFound);
  EXPECT_TRUE(std::holds_alternative<SqlError>(run_sql({}, "SELECT 1")));
}

TEST_F(SqlQueryTest, AStatementThatIsNotWantedAnyMoreEnds) {
  int asked = 0;
  std::vector<std::string> stages;
  const auto is_unwanted = [&] { return ++asked > 5; };
  (void)run_sql(
      traces,
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", {},
      is_unwanted, [&](std::string_view stage, double) {
        stages.emplace_back(stage);
        return true;
      });
  EXPECT_THAT(stages, ElementsAre("asking rank 0"));
}

}  // namespace
}  // namespace dprof::analyzer
