// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/gpu_rows.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "analyzer/digest/test_support/gpu_trace.h"

namespace dprof::analyzer {
namespace {

using schema::GpuActivityKind;
using LeftOut = std::vector<std::pair<std::string, int64_t>>;

RankGpuRows count(GpuTrace& trace, RowFilter filter) {
  const test_support::TemporaryFolder folder;
  const Result<RankDigest> digest = digest_rank(trace.write(folder.path() / "rank-00000.dprof"));
  DPROF_CHECK(digest.ok());
  const std::optional<GpuRows> rows = gpu_rows_of({&*digest, 1}, filter);
  EXPECT_TRUE(rows && rows->per_rank.size() == 1);
  return rows->per_rank.front();
}

// Two linked kernels, one of them communication, and one whose launch has no row.
GpuTrace small_trace() {
  GpuTrace trace(1);
  trace.activity(7, 100, 200, trace.launch(1, 10, 12));
  trace.activity(8, 150, 250, trace.launch(1, 13, 14), "ncclDevKernel_AllReduce");
  trace.activity(7, 300, 320, trace.launch(1, 15, 16), "Memset", GpuActivityKind::kMemset);
  trace.activity(7, 330, 340, trace.launch(1, 17, 18), "Memcpy HtoD", GpuActivityKind::kMemcpyH2d);
  trace.activity(7, 400, 500, 999);
  trace.activity(7, 500, 600, trace.launch(1, 20, 21), "stream", GpuActivityKind::kSync);
  return trace;
}

TEST(GpuRowsTest, AllCountsEveryKernelCopyAndMemset) {
  GpuTrace trace = small_trace();
  const RankGpuRows rows = count(trace, RowFilter::kAll);
  EXPECT_EQ(rows.rows, 5);
  EXPECT_EQ(rows.span_ns, 400);
  EXPECT_EQ(rows.compute_ns, 200);
  EXPECT_EQ(rows.communication_ns, 100);
  EXPECT_EQ(rows.memory_ns, 30);
  EXPECT_EQ(rows.overlap_ns, 50);
  EXPECT_EQ(rows.busy_ns, 280);
  EXPECT_EQ(rows.idle_ns, 120);
  EXPECT_EQ(rows.left_out, (LeftOut{{"synchronisation", 1}}));
}

TEST(GpuRowsTest, LinkedLeavesOutWhatHasNoLaunchAndComputesMemsets) {
  GpuTrace trace = small_trace();
  const RankGpuRows rows = count(trace, RowFilter::kLinked);
  EXPECT_EQ(rows.rows, 4);
  EXPECT_EQ(rows.span_ns, 240);
  EXPECT_EQ(rows.compute_ns, 120);
  EXPECT_EQ(rows.memory_ns, 10);
  EXPECT_EQ(rows.busy_ns, 180);
  EXPECT_EQ(rows.left_out, (LeftOut{{"no launching row", 1}, {"synchronisation", 1}}));
}

TEST(GpuRowsTest, StepsHtaWithoutStepsTakesAllAndSynchronisations) {
  GpuTrace trace(1000);
  trace.activity(7, 100, 200, trace.launch(1, 10, 12)).start_ns -= 1;  // 99.999 until 199.999 us
  trace.activity(7, 250, 300, 0, "stream", GpuActivityKind::kSync);
  trace.activity(9, 250, 700, 0, "device", GpuActivityKind::kSync);
  trace.stream_number(7, 7);
  trace.stream_number(9, -1);
  trace.step(0, 0, 1000);
  const RankGpuRows rows = count(trace, RowFilter::kStepsHta);
  EXPECT_EQ(rows.rows, 2);
  EXPECT_EQ(rows.span_ns, 200'000);
  EXPECT_EQ(rows.compute_ns, 99'000);
  EXPECT_EQ(rows.busy_ns, 149'000);
  EXPECT_EQ(rows.memory_ns, 0);
  EXPECT_EQ(rows.left_out, (LeftOut{{"no stream", 1}}));
}

TEST(GpuRowsTest, StepsHtaRoundsTheTimesOfTheFile) {
  GpuTrace trace(1);
  trace.activity(7, 0, 2'000, trace.launch(1, 0, 1));
  trace.set_meta("origin_realtime_ns", "1700000000000000400");
  // 0.4 until 2.4 us of the file become 1 until 2.
  EXPECT_EQ(count(trace, RowFilter::kStepsHta).busy_ns, 1'000);
}

TEST(GpuRowsTest, StepsHtaDropsTheLastStep) {
  GpuTrace trace(1000);
  trace.step(0, 0, 100);
  trace.step(1, 100, 200);
  trace.step(2, 200, 300);
  trace.activity(7, 5, 10, trace.launch(1, 1, 2));
  trace.activity(7, 210, 220, trace.launch(1, 190, 191));  // runs in the last step, launched before
  trace.activity(7, 220, 230, trace.launch(1, 200, 201));
  trace.activity(7, 240, 250, 999);
  const RankGpuRows rows = count(trace, RowFilter::kStepsHta);
  EXPECT_EQ(rows.rows, 2);
  EXPECT_EQ(rows.compute_ns, 15'000);
  EXPECT_EQ(rows.left_out, (LeftOut{{"last step", 1}, {"no launching row", 1}}));
}

TEST(GpuRowsTest, DevicesAreCountedApartAndAdded) {
  GpuTrace trace(1);
  trace.activity(7, 0, 100, trace.launch(1, 0, 1));
  trace.activity(8, 50, 150, trace.launch(1, 2, 3)).device_id = 1;
  const RankGpuRows rows = count(trace, RowFilter::kAll);
  EXPECT_EQ(rows.span_ns, 200);
  EXPECT_EQ(rows.busy_ns, 200);
  EXPECT_EQ(rows.idle_ns, 0);
}

TEST(GpuRowsTest, ATraceWithoutGpuRowsIsNotCounted) {
  GpuTrace trace(1);
  trace.op(1, 0, 5);
  const test_support::TemporaryFolder folder;
  const Result<RankDigest> digest = digest_rank(trace.write(folder.path() / "rank-00000.dprof"));
  ASSERT_TRUE(digest.ok());
  EXPECT_FALSE(gpu_rows_of({&*digest, 1}, RowFilter::kAll));
}

// Random rows, counted time unit by time unit.
class GpuRowsRaster : public testing::TestWithParam<uint64_t> {};

struct Row {
  int64_t device, begin, end;
  GpuActivityKind kind;
  bool communication;
  bool linked;
};

RankGpuRows by_moments(const std::vector<Row>& rows, bool linked) {
  RankGpuRows sums{.rank = 0, .left_out = {}};
  for (int64_t device = 0; device < 2; ++device) {
    int64_t first = INT64_MAX, last = INT64_MIN;
    std::vector<std::set<char>> classes(300);
    for (const Row& row : rows) {
      if (row.device != device || (linked && !row.linked) || row.kind == GpuActivityKind::kSync)
        continue;
      ++sums.rows;
      first = std::min(first, row.begin);
      last = std::max(last, row.end);
      const bool fills = row.kind == GpuActivityKind::kMemset;
      const bool kernel = row.kind == GpuActivityKind::kKernel;
      const char what = kernel ? (row.communication ? 'n' : 'c') : (fills && linked ? 'c' : 'm');
      for (int64_t t = row.begin; t < row.end; ++t) classes[static_cast<size_t>(t)].insert(what);
    }
    if (first > last) continue;
    sums.span_ns += last - first;
    for (int64_t t = first; t < last; ++t) {
      const std::set<char>& now = classes[static_cast<size_t>(t)];
      (now.empty() ? sums.idle_ns : sums.busy_ns) += 1;
      sums.compute_ns += static_cast<int64_t>(now.count('c'));
      sums.communication_ns += static_cast<int64_t>(now.count('n'));
      sums.memory_ns += static_cast<int64_t>(now.count('m'));
      sums.overlap_ns += static_cast<int64_t>(now.count('c') * now.count('n'));
    }
  }
  return sums;
}

TEST_P(GpuRowsRaster, CountsAreThoseOfEveryNanosecond) {
  std::mt19937_64 random(GetParam());
  const auto number = [&](uint64_t limit) { return static_cast<int64_t>(random() % limit); };
  for (int round = 0; round < 5; ++round) {
    GpuTrace trace(1);
    std::vector<Row> rows;
    const bool complete = number(3) == 0;
    for (int64_t n = 1 + number(25); n > 0; --n) {
      constexpr GpuActivityKind kKinds[] = {
          GpuActivityKind::kKernel,    GpuActivityKind::kKernel, GpuActivityKind::kMemcpyH2d,
          GpuActivityKind::kMemcpyD2d, GpuActivityKind::kMemset, GpuActivityKind::kSync};
      const int64_t begin = number(200);
      Row row{number(2),         begin,          begin + number(60),
              kKinds[number(6)], number(2) == 0, complete || number(3) != 0};
      const int64_t correlation = row.linked ? trace.launch(1, begin, begin) : 1'000'000 + n;
      trace
          .activity(7, row.begin, row.end, correlation,
                    row.communication ? "ncclKernel_SendRecv" : "gemm", row.kind)
          .device_id = row.device;
      rows.push_back(row);
    }
    const RankGpuRows all = count(trace, RowFilter::kAll);
    const RankGpuRows linked = count(trace, RowFilter::kLinked);
    for (const auto& [found, expected] :
         {std::pair(all, by_moments(rows, false)), std::pair(linked, by_moments(rows, true))}) {
      ASSERT_EQ(found.rows, expected.rows);
      ASSERT_EQ(found.span_ns, expected.span_ns);
      ASSERT_EQ(found.busy_ns, expected.busy_ns);
      ASSERT_EQ(found.idle_ns, expected.idle_ns);
      ASSERT_EQ(found.compute_ns, expected.compute_ns);
      ASSERT_EQ(found.communication_ns, expected.communication_ns);
      ASSERT_EQ(found.memory_ns, expected.memory_ns);
      ASSERT_EQ(found.overlap_ns, expected.overlap_ns);
      ASSERT_EQ(found.busy_ns + found.idle_ns, found.span_ns);
      ASSERT_LE(found.overlap_ns, std::min(found.compute_ns, found.communication_ns));
    }
    // The rows that one view has beyond the other are those that the other left out.
    int64_t unlinked = 0;
    for (const auto& [reason, left] : linked.left_out)
      unlinked += reason == "no launching row" ? left : 0;
    ASSERT_EQ(all.rows - linked.rows, unlinked);
    if (complete) {
      ASSERT_EQ(all.rows, linked.rows);
      ASSERT_EQ(all.busy_ns, linked.busy_ns);
      ASSERT_EQ(all.span_ns, linked.span_ns);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, GpuRowsRaster, testing::Range<uint64_t>(1, 9));

}  // namespace
}  // namespace dprof::analyzer
