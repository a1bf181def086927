// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/sink/row_sorter.h"

#include <gtest/gtest.h>

#include <random>

#include "analyzer/import/sink/trace_sink_internal.h"

namespace dprof::analyzer {
namespace {

DependencyRecord record(int64_t start, int64_t duration, int64_t event) {
  return {.start = start,
          .duration = duration,
          .order = 0,
          .event = event,
          .record_ns = 0,
          .correlation = 0,
          .record_stream = 0,
          .wait_stream = 0};
}

std::vector<int64_t> sorted(const std::vector<DependencyRecord>& records, size_t block_rows) {
  RowSorter<DependencyRecord> sorter(std::filesystem::temp_directory_path(), block_rows);
  for (const DependencyRecord& r : records) EXPECT_TRUE(sorter.add(r).ok());
  std::vector<int64_t> events;
  EXPECT_TRUE(sorter
                  .drain([&](const DependencyRecord& r) -> Status {
                    events.push_back(r.event);
                    return Done{};
                  })
                  .ok());
  return events;
}

TEST(RowSorterTest, ByStartThenTheLongerThenAsTheyCame) {
  const std::vector<DependencyRecord> records = {record(5, 1, 0), record(1, 2, 1),
                                                 record(1, 3, 2), record(1, kNoValue, 3),
                                                 record(1, 3, 4), record(-7, 0, 5)};
  const std::vector<int64_t> want = {5, 3, 2, 4, 1, 0};
  EXPECT_EQ(sorted(records, 100), want);
  EXPECT_EQ(sorted(records, 2), want) << "in runs of two";
}

TEST(RowSorterTest, RunsInAFileGiveTheSameOrder) {
  std::mt19937 random(7);
  std::vector<DependencyRecord> records;
  for (int64_t i = 0; i < 5000; ++i)
    records.push_back(
        record(static_cast<int64_t>(random() % 300), static_cast<int64_t>(random() % 3), i));
  const std::vector<int64_t> in_memory = sorted(records, 10'000);
  ASSERT_EQ(in_memory.size(), records.size());
  for (const size_t rows : {size_t{1000}, size_t{777}, size_t{5000}, size_t{100}})
    EXPECT_EQ(sorted(records, rows), in_memory) << rows;
}

TEST(RowSorterTest, AFolderThatIsNotThereIsAnError) {
  RowSorter<DependencyRecord> sorter("/nonexistent/folder", 2);
  EXPECT_TRUE(sorter.add(record(1, 0, 0)).ok());
  EXPECT_FALSE(sorter.add(record(2, 0, 0)).ok());
}

}  // namespace
}  // namespace dprof::analyzer
