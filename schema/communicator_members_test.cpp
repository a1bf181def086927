// SPDX-License-Identifier: Apache-2.0
// Members of communicators as stored in the file: the view returns what was written, in few rows.
#include "schema/communicator_members.h"

#include <gtest/gtest.h>

#include <limits>

#include "schema/trace_reader.h"
#include "schema/trace_writer.h"
#include "tests/support/temporary_folder.h"

namespace dprof::schema {
namespace {

class CommunicatorMembersTest : public ::testing::Test {
 protected:
  void write(const std::vector<CommunicatorMemberRow>& rows) {
    auto writer = *TraceWriter::create(path_);
    for (const CommunicatorMemberRow& row : rows) EXPECT_TRUE(writer->append(row).ok());
    EXPECT_TRUE(writer->finish().ok());
  }
  std::vector<CommunicatorMemberRow> read() {
    return *TraceReader::open(path_)->read_all<CommunicatorMemberRow>();
  }
  int64_t query(const std::string& sql) {
    return *Database::open(path_, Database::Mode::kReadOnly)->query_int(sql);
  }

  test_support::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "trace.dprof";
};

TEST_F(CommunicatorMembersTest, AGroupOfEverybodyIsARow) {
  std::vector<CommunicatorMemberRow> rows;
  for (int64_t rank = 0; rank < 10'000; ++rank) rows.push_back({1, rank, rank});
  for (int64_t member = 0; member < 64; ++member) rows.push_back({2, member, 5 + 8 * member});
  for (int64_t member = 0; member < 4; ++member) rows.push_back({3, member, 7 - member});
  write(rows);
  EXPECT_EQ(query("SELECT count(*) FROM _communicator_members"), 3);
  EXPECT_TRUE(read() == rows);
  EXPECT_EQ(query("SELECT count(*) FROM communicator_member"), 10'068);
  EXPECT_EQ(query("SELECT rank FROM communicator_member WHERE communicator_id = 2 AND member = 63"),
            5 + 8 * 63);
  const auto reader = TraceReader::open(path_);
  EXPECT_EQ(*reader->count("communicator_member"), 10'068);
  EXPECT_TRUE(*reader->read_all<CommunicatorMemberRow>("communicator_id = 3") ==
              (std::vector<CommunicatorMemberRow>{{3, 0, 7}, {3, 1, 6}, {3, 2, 5}, {3, 3, 4}}));
}

TEST_F(CommunicatorMembersTest, AnyListIsReadAsItWasWritten) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  const std::vector<CommunicatorMemberRow> rows = {
      {1, 0, 3}, {1, 1, 3}, {1, 2, 4},       {1, 3, 8},    {1, 5, 9},    {2, 6, 9},
      {1, 6, 9}, {1, 6, 9}, {2, kMax, kMax}, {2, kMin, 0}, {3, 0, kMin}, {3, 1, kMax},
      {3, 2, 0}, {4, 1, 1}, {4, kMax, kMin}, {5, 0, 0},    {5, 1, kMax}, {5, 2, kMin},
      {6, 0, 9}, {6, 1, 7}, {6, 2, 5},       {6, 3, 3},    {6, 4, 2},    {0, 0, 0}};
  write(rows);
  EXPECT_TRUE(read() == rows);
}

TEST_F(CommunicatorMembersTest, AReopenedTraceGoesOn) {
  write({{1, 0, 0}, {1, 1, 1}});
  auto writer = *TraceWriter::reopen(path_);
  ASSERT_TRUE(writer->append(CommunicatorMemberRow{1, 2, 2}).ok());
  ASSERT_TRUE(writer->commit().ok());
  ASSERT_TRUE(writer->append(CommunicatorMemberRow{1, 3, 3}).ok());
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_EQ(query("SELECT count(*) FROM _communicator_members"), 3);
  EXPECT_TRUE(read() ==
              (std::vector<CommunicatorMemberRow>{{1, 0, 0}, {1, 1, 1}, {1, 2, 2}, {1, 3, 3}}));
}

TEST_F(CommunicatorMembersTest, ADamagedCountIsDamage) {
  write({{1, 0, 0}, {1, 1, 1}});
  for (const char* damage : {"count = 0", "count = -5", "count = 1 << 40",
                             "rank = 9223372036854775807", "member = 9223372036854775807"}) {
    SCOPED_TRACE(damage);
    ASSERT_TRUE(
        Database::open(path_, Database::Mode::kReadWrite)
            ->execute(
                std::string("UPDATE _communicator_members SET count = 2, rank = 0, member = 0;") +
                "UPDATE _communicator_members SET " + damage)
            .ok());
    const auto members = TraceReader::open(path_)->read_all<CommunicatorMemberRow>();
    ASSERT_FALSE(members.ok());
    EXPECT_EQ(members.error().code, Code::kDamaged);
    EXPECT_NE(members.error().what.find("trace.dprof"), std::string::npos);
  }
}

}  // namespace
}  // namespace dprof::schema
