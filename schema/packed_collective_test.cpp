// SPDX-License-Identifier: Apache-2.0
// Collectives as stored in the file: the view returns what was written, in few bytes.
#include "schema/packed_collective.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "schema/trace_reader.h"
#include "schema/trace_writer.h"
#include "tests/support/temporary_folder.h"

namespace dprof::schema {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// An NCCL collective as first written: its kernel comes later.
CollectiveRow called(int64_t id) {
  return {.id = id,
          .communicator_id = 1 + id % 2,
          .function = Function::kAllReduce,
          .sequence = id,
          .group_sequence = id,
          .bytes = 4'000'000,
          .count = 1'000'000,
          .dtype = DataType::kFloat32,
          .reduction = Reduction::kSum,
          .enqueue_ns = 7'000'000'000 + id * 20'000,
          .state = CollectiveState::kUnobserved,
          .algorithm = "RING",
          .protocol = "SIMPLE",
          .channels = 24,
          .bucket = id % 5,
          .captured = 0,
          .enqueue_thread_id = 1,
          .ready_ns = 7'000'000'000 + id * 20'000 - 9'000,
          .source = Source::kNccl};
}

CollectiveRow completed(CollectiveRow row) {
  row.start_ns = *row.enqueue_ns + 12'345;
  row.end_ns = *row.enqueue_ns + 1'500'000'000;
  row.stream_id = 2;
  row.correlation = 1'000'000 + row.id;
  row.state = CollectiveState::kComplete;
  return row;
}

class PackedCollectiveTest : public ::testing::Test {
 protected:
  // How the reader returns these rows.
  std::vector<CollectiveRow> round_trip(const std::vector<CollectiveRow>& rows) {
    auto writer = *TraceWriter::create(path_);
    for (const CollectiveRow& row : rows) EXPECT_TRUE(writer->append(row).ok());
    EXPECT_TRUE(writer->finish().ok());
    const auto reader = TraceReader::open(path_);
    EXPECT_TRUE(reader.ok());
    return *reader->read_all<CollectiveRow>();
  }
  int64_t query(const std::string& sql) {
    return *Database::open(path_, Database::Mode::kReadOnly)->query_int(sql);
  }

  test_support::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "trace.dprof";
};

TEST_F(PackedCollectiveTest, EveryTimeIsExact) {
  const std::optional<int64_t> times[] = {std::nullopt, 0, 1, -1, 4096, kMin, kMin + 1, kMax};
  std::vector<CollectiveRow> rows;
  for (const auto& enqueue : times) {
    for (const auto& start : times) {
      for (const auto& end : times) {
        for (const auto state : {CollectiveState::kRunning, CollectiveState::kComplete}) {
          rows.push_back({.id = static_cast<int64_t>(rows.size()),
                          .enqueue_ns = enqueue,
                          .start_ns = start,
                          .end_ns = end,
                          .state = state,
                          .ready_ns = start,
                          .correlation = end,
                          .source = Source::kNccl});
        }
      }
    }
  }
  EXPECT_TRUE(round_trip(rows) == rows);
}

TEST_F(PackedCollectiveTest, TheViewHasTheDeclaredColumnsInTheirOrder) {
  round_trip({called(1)});
  const auto database = Database::open(path_, Database::Mode::kReadOnly);
  const auto all = database->prepare("SELECT * FROM collective");
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->column_count(), static_cast<int>(std::size(kCollectiveColumns)));
  for (int i = 0; i < all->column_count(); ++i) {
    EXPECT_EQ(all->column_name(i), kCollectiveColumns[i].name);
  }
  EXPECT_EQ(*database->query_text("SELECT function || ' ' || algorithm || ' ' || state "
                                  "FROM collective_text WHERE end_ns IS NULL"),
            "all_reduce RING unobserved");
}

TEST_F(PackedCollectiveTest, RowsAreFoundByWhatTheViewShows) {
  std::vector<CollectiveRow> rows;
  for (int64_t id = 0; id < 100; ++id) {
    rows.push_back(id % 4 == 0 ? called(id) : completed(called(id)));
  }
  EXPECT_TRUE(round_trip(rows) == rows);
  const auto reader = TraceReader::open(path_);
  EXPECT_EQ(reader->read_all<CollectiveRow>("end_ns IS NULL")->size(), 25u);
  EXPECT_EQ(reader->read_all<CollectiveRow>("id = 17 AND algorithm = 'RING'")->size(), 1u);
  EXPECT_EQ(reader->read_all<CollectiveRow>("correlation > 1000090")->size(), 7u);
  EXPECT_EQ(*reader->count("collective"), 100);
}

// Bytes that follow from the count are not stored.
TEST_F(PackedCollectiveTest, EveryCountOfBytesIsExact) {
  const std::optional<int64_t> numbers[] = {std::nullopt, 0,  1,    2,    3,   4, -4, 8,
                                            64,           65, 4096, kMin, kMax};
  std::vector<CollectiveRow> rows;
  for (const auto& bytes : numbers) {
    for (const auto& count : numbers) {
      rows.push_back({.id = static_cast<int64_t>(rows.size()) + 1, .bytes = bytes, .count = count});
    }
  }
  EXPECT_TRUE(round_trip(rows) == rows);
  const auto reader = TraceReader::open(path_);
  EXPECT_TRUE(*reader->read_all<CollectiveRow>("id > 0") == rows) << "as the view shows them";
  EXPECT_GT(query("SELECT count(*) FROM _collective WHERE bytes IS NULL AND count > 0"), 20);
}

TEST_F(PackedCollectiveTest, ARowWhoseTraitsAreMissingIsDamage) {
  round_trip({called(1), called(2)});
  ASSERT_TRUE(Database::open(path_, Database::Mode::kReadWrite)
                  ->execute("DELETE FROM _collective_traits WHERE id = 2")
                  .ok());
  const auto read = TraceReader::open(path_)->read_all<CollectiveRow>();
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::kDamaged);
}

// A row grows when its kernel is known, seconds after it was written: pages split then.
TEST_F(PackedCollectiveTest, RowsThatWereCompletedLaterAreSmall) {
  constexpr int64_t kRows = 40'000;
  auto writer = *TraceWriter::create(path_);
  for (int64_t id = 1; id <= kRows; ++id) ASSERT_TRUE(writer->append(called(id)).ok());
  ASSERT_TRUE(writer->commit().ok());
  for (int64_t id = 1; id <= kRows; ++id) {
    ASSERT_TRUE(writer->update_collective(completed(called(id))).ok());
  }
  ASSERT_TRUE(writer->finish().ok());
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path_));
  EXPECT_LE(size, 64 * kRows);  // 12 of them are the other tables' pages
  const auto reader = TraceReader::open(path_);
  int64_t id = 0;
  ASSERT_TRUE(reader
                  ->for_each<CollectiveRow>([&](const CollectiveRow& row) {
                    ++id;
                    EXPECT_TRUE(row == completed(called(id))) << id;
                  })
                  .ok());
  EXPECT_EQ(id, kRows);
}

TEST_F(PackedCollectiveTest, WhatIsTheSameIsStoredOnce) {
  std::vector<CollectiveRow> rows;
  for (int64_t id = 0; id < 1000; ++id) rows.push_back(called(id));
  round_trip(rows);
  EXPECT_EQ(query("SELECT count(*) FROM _collective_traits"), 10);  // communicators × buckets
}

TEST_F(PackedCollectiveTest, MoreKindsThanAreRememberedAreNoLoss) {
  std::vector<CollectiveRow> rows;
  for (int64_t id = 0; id < 10'000; ++id) {
    rows.push_back(called(id));
    rows.back().peer = id % 5000;
  }
  EXPECT_TRUE(round_trip(rows) == rows);
  EXPECT_GE(query("SELECT count(*) FROM _collective_traits"), 5000);
}

TEST_F(PackedCollectiveTest, AReopenedTraceGoesOn) {
  round_trip({called(1), called(2)});
  auto writer = *TraceWriter::reopen(path_);
  CollectiveRow other = called(3);
  other.algorithm = "TREE";
  ASSERT_TRUE(writer->append(other).ok());
  ASSERT_TRUE(writer->update_collective(completed(called(2))).ok());
  ASSERT_TRUE(writer->finish().ok());
  const auto reader = TraceReader::open(path_);
  EXPECT_TRUE(*reader->read_all<CollectiveRow>() ==
              (std::vector<CollectiveRow>{called(1), completed(called(2)), other}));
}

}  // namespace
}  // namespace dprof::schema
