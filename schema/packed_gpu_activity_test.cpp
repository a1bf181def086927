// SPDX-License-Identifier: Apache-2.0
// What devices did, as stored in the file: the views return what was written, in few bytes.
#include "schema/packed_gpu_activity.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <vector>

#include "schema/trace_reader.h"
#include "schema/trace_writer.h"
#include "tests/support/temporary_folder.h"

namespace dprof::schema {
namespace {

// A kernel of a training step: 40 kinds on two streams, every second with its shape.
ShapedActivity kernel(int64_t id) {
  ShapedActivity shaped{.activity = {.id = id,
                                     .device_id = 1,
                                     .stream_id = 7 + id % 2,
                                     .start_ns = 7'000'000'000 + id * 20'000,
                                     .duration_ns = 9'876,
                                     .name_id = 100 + id % 40,
                                     .kind = GpuActivityKind::kKernel,
                                     .correlation = 1'000'000 + id}};
  if (id % 2 == 0) {
    shaped.shape = KernelShapeRow{.activity_id = id,
                                  .grid_x = 64,
                                  .grid_y = 2,
                                  .grid_z = 1,
                                  .block_x = 256,
                                  .block_y = 1,
                                  .block_z = 1,
                                  .registers = 40,
                                  .static_shared_bytes = 1024,
                                  .dynamic_shared_bytes = 0};
  }
  return shaped;
}

class PackedGpuActivityTest : public ::testing::Test {
 protected:
  void write(const std::vector<ShapedActivity>& rows) const {
    auto writer = *TraceWriter::create(path_);
    for (const ShapedActivity& row : rows) ASSERT_TRUE(writer->append(row).ok());
    ASSERT_TRUE(writer->finish().ok());
  }

  // By their pages and as the views show them.
  void expect(const std::vector<ShapedActivity>& rows) const {
    std::vector<GpuActivityRow> activities;
    std::vector<KernelShapeRow> shapes;
    for (const ShapedActivity& row : rows) {
      activities.push_back(row.activity);
      if (row.shape) shapes.push_back(*row.shape);
    }
    const auto reader = TraceReader::open(path_);
    ASSERT_TRUE(reader.ok()) << reader.error().what;
    EXPECT_TRUE(*reader->read_all<GpuActivityRow>() == activities);
    EXPECT_TRUE(*reader->read_all<GpuActivityRow>("1") == activities);
    EXPECT_TRUE(*reader->read_all<KernelShapeRow>() == shapes);
    EXPECT_EQ(*reader->count("gpu_activity"), static_cast<int64_t>(activities.size()));
    EXPECT_EQ(*reader->count("kernel_shape"), static_cast<int64_t>(shapes.size()));
  }

  [[nodiscard]] int64_t query(const std::string& sql) const {
    return *Database::open(path_, Database::Mode::kReadOnly)->query_int(sql);
  }

  test_support::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "trace.dprof";
};

TEST_F(PackedGpuActivityTest, EveryRowIsExact) {
  std::vector<ShapedActivity> rows;
  using Limits = std::numeric_limits<int64_t>;
  for (const int64_t number : {int64_t{0}, int64_t{1}, int64_t{-1}, Limits::min(), Limits::max()}) {
    for (const bool is_whole : {false, true}) {
      const std::optional<int64_t> maybe = is_whole ? std::optional(number) : std::nullopt;
      const auto id = static_cast<int64_t>(rows.size());
      rows.push_back({.activity = {.id = id,
                                   .device_id = number,
                                   .stream_id = number,
                                   .start_ns = number,
                                   .duration_ns = maybe,
                                   .name_id = number,
                                   .kind = GpuActivityKind::kMemset,
                                   .bytes = maybe,
                                   .correlation = maybe,
                                   .graph_node = maybe,
                                   .graph = maybe}});
      if (is_whole)
        rows.back().shape = KernelShapeRow{.activity_id = id, .grid_x = number, .block_z = number};
    }
  }
  write(rows);
  expect(rows);
}

TEST_F(PackedGpuActivityTest, AKernelTakesFewBytesWithItsShape) {
  constexpr int64_t kRows = 50'000;
  std::vector<ShapedActivity> rows;
  for (int64_t id = 1; id <= kRows; ++id) rows.push_back(kernel(id));
  write(rows);
  expect(rows);
  EXPECT_EQ(query("SELECT count(*) FROM _gpu_activity_traits"), 40);
  // The other tables of an empty file have a page of 16 KiB each.
  EXPECT_LE(static_cast<int64_t>(std::filesystem::file_size(path_)), 25 * kRows + (30 << 14));
}

TEST_F(PackedGpuActivityTest, TheViewsHaveTheDeclaredColumnsInTheirOrder) {
  write({kernel(2)});
  const auto database = Database::open(path_, Database::Mode::kReadOnly);
  const auto expect_columns = [&](std::string_view view, std::span<const Column> columns) {
    const auto all = database->prepare(fmt::format("SELECT * FROM {}", view));
    ASSERT_TRUE(all.ok());
    ASSERT_EQ(all->column_count(), static_cast<int>(columns.size()));
    for (int i = 0; i < all->column_count(); ++i)
      EXPECT_EQ(all->column_name(i), columns[static_cast<size_t>(i)].name);
  };
  expect_columns("gpu_activity", kGpuActivityColumns);
  expect_columns("kernel_shape", kKernelShapeColumns);
  EXPECT_EQ(*database->query_text("SELECT kind FROM gpu_activity_text WHERE id = 2"), "kernel");
}

TEST_F(PackedGpuActivityTest, AReopenedTraceGoesOn) {
  std::vector<ShapedActivity> rows = {kernel(1), kernel(2)};
  write(rows);
  auto writer = *TraceWriter::reopen(path_);
  for (int64_t id = 3; id < 100; ++id) {
    rows.push_back(kernel(id));
    ASSERT_TRUE(writer->append(rows.back()).ok());
  }
  ASSERT_TRUE(writer->finish().ok());
  expect(rows);
}

TEST_F(PackedGpuActivityTest, ATraceIsReadWhileItGrows) {
  auto writer = *TraceWriter::create(path_);
  std::vector<ShapedActivity> rows;
  for (int64_t id = 1; id < 60; ++id) {
    rows.push_back(kernel(id));
    ASSERT_TRUE(writer->append(rows.back()).ok());
    if (id % 20 != 0) continue;
    ASSERT_TRUE(writer->commit().ok());
    expect(rows);
  }
}

// A job whose shapes are new in each step: the flight recorder keeps only the last seconds of it.
TEST_F(PackedGpuActivityTest, TraitsOfDeletedRowsAreDeleted) {
  constexpr int64_t kRows = 40'000;
  constexpr int64_t kKept = 1000;
  auto writer = *TraceWriter::create(path_);
  const auto with_new_shape = [](int64_t id) {
    ShapedActivity row = kernel(id);
    row.shape = KernelShapeRow{.activity_id = id, .grid_x = id};
    return row;
  };
  for (int64_t id = 1; id <= kRows; ++id) {
    ASSERT_TRUE(writer->append(with_new_shape(id)).ok());
    if (id % kKept != 0) continue;
    ASSERT_TRUE(
        writer->change(fmt::format("DELETE FROM _gpu_activity WHERE id <= {}", id - kKept)).ok());
    ASSERT_TRUE(writer->delete_unused_traits().ok());
  }
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_LT(query("SELECT count(*) FROM _gpu_activity_traits"), 2 * 8192);
  std::vector<ShapedActivity> rest;
  for (int64_t id = kRows - kKept + 1; id <= kRows; ++id) rest.push_back(with_new_shape(id));
  expect(rest);
}

TEST_F(PackedGpuActivityTest, ARowWhoseTraitsAreMissingIsDamage) {
  write({kernel(1), kernel(2), kernel(3)});
  ASSERT_TRUE(Database::open(path_, Database::Mode::kReadWrite)
                  ->execute("DELETE FROM _gpu_activity_traits WHERE id = 2")
                  .ok());
  const auto read = TraceReader::open(path_)->read_all<GpuActivityRow>();
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::kDamaged);
}

}  // namespace
}  // namespace dprof::schema
