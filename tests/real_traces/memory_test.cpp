// SPDX-License-Identifier: Apache-2.0
// Allocations of a real recording, against the totals that PyTorch's allocator wrote into it:
//   h100_inference  AMD-AGI/TraceLens 171dd74, MIT
#include <gtest/gtest.h>

#include "analyzer/analysis.h"
#include "analyzer/run/run.h"
#include "tests/real_traces/real_traces.h"

namespace dprof::real_traces {
namespace {

// The largest "Total Allocated" and "Total Reserved" of the 2,250 [memory] events of device 0, and
// what "Total Allocated" was before the first of them.
constexpr int64_t kPeakAllocated = 2'088'508'416;
constexpr int64_t kPeakReserved = 2'629'828'608;
constexpr int64_t kBefore = 1'003'059'712 - 18'317'312;

TEST(RealMemoryTest, PeaksAreThoseOfTheAllocator) {
  const Imported& imported =
      imported_once({"h100_inference/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"});
  DPROF_SKIP_IF_ABSENT(imported);
  const Result<analyzer::Run> run = analyzer::open_run({imported.run()});
  ASSERT_TRUE(run.ok());
  const Result<analyzer::Analysis> analysis = analyzer::analyze(*run);
  ASSERT_TRUE(analysis.ok());
  ASSERT_TRUE(analysis->report.memory);
  const auto& per_rank = analysis->report.memory->per_rank;
  const auto device = std::ranges::find(per_rank, 0, &analyzer::RankMemory::device);
  ASSERT_NE(device, per_rank.end());
  EXPECT_EQ(device->source, analyzer::MemorySource::kAllocatorEvents);
  EXPECT_EQ(device->peak_allocated, kPeakAllocated);
  EXPECT_EQ(device->peak_reserved, kPeakReserved);
  EXPECT_GE(device->before_bytes, kBefore);
  EXPECT_LT(device->before_bytes, kPeakAllocated);
  ASSERT_TRUE(device->by_category);
  int64_t sum = 0;
  for (const int64_t bytes : *device->by_category) sum += bytes;
  EXPECT_EQ(sum, kPeakAllocated);
  EXPECT_EQ(device->unmatched, 0);
  EXPECT_FALSE(analysis->report.memory->leaks) << "no steps: nothing can be said";
}

}  // namespace
}  // namespace dprof::real_traces
