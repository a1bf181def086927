// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/bandwidth.h"

#include <gtest/gtest.h>

namespace dprof::analyzer {
namespace {

using schema::Function;

struct BandwidthCase {
  Function function;
  int64_t input_bytes;
  double size;    // of 8 ranks
  double factor;  // of 8 ranks
};

class BandwidthTest : public ::testing::TestWithParam<BandwidthCase> {};

// Sizes and factors per function from nccl-tests, PERFORMANCE.md.
TEST_P(BandwidthTest, IsThatOfNcclTests) {
  const BandwidthCase& c = GetParam();
  EXPECT_DOUBLE_EQ(size_of(c.function, c.input_bytes, 8), c.size);
  EXPECT_DOUBLE_EQ(bus_factor(c.function, 8), c.factor);
  const auto bandwidth = bandwidth_of(c.function, c.size, 8, 2'000'000);
  ASSERT_TRUE(bandwidth);
  EXPECT_DOUBLE_EQ(bandwidth->algbw, c.size / 0.002);
  EXPECT_DOUBLE_EQ(bandwidth->busbw, c.size / 0.002 * c.factor);
}

INSTANTIATE_TEST_SUITE_P(Functions, BandwidthTest,
                         ::testing::Values(BandwidthCase{Function::kAllReduce, 4096, 4096, 1.75},
                                           BandwidthCase{Function::kReduceScatter, 8192, 8192,
                                                         0.875},
                                           BandwidthCase{Function::kAllGather, 512, 4096, 0.875},
                                           BandwidthCase{Function::kAllToAll, 4096, 4096, 0.875},
                                           BandwidthCase{Function::kGather, 512, 4096, 0.875},
                                           BandwidthCase{Function::kScatter, 4096, 4096, 0.875},
                                           BandwidthCase{Function::kBroadcast, 4096, 4096, 1},
                                           BandwidthCase{Function::kReduce, 4096, 4096, 1},
                                           BandwidthCase{Function::kSend, 4096, 4096, 1}));

TEST(BandwidthOfUnevenTest, TotalOfAGatherAndMostOfAnAllToAll) {
  std::vector<RankDigest> digests(3);
  Instance instance{.function = Function::kAllGather, .bytes = 100, .members = {}};
  for (size_t d = 0; d < 3; ++d) {
    CollectiveRecord record;
    record.bytes = static_cast<int64_t>(100 * (d + 1));
    digests[d].collectives.push_back(record);
    instance.members.push_back({static_cast<uint32_t>(d), 0, 0});
  }
  EXPECT_EQ(size_of(instance, digests, 3), 600);
  EXPECT_EQ(size_of(instance, digests, 6), 1200) << "three ranks have no trace";
  instance.function = Function::kAllToAll;
  EXPECT_EQ(size_of(instance, digests, 3), 300);
  for (RankDigest& digest : digests) digest.collectives.edit(0).bytes.reset();
  EXPECT_FALSE(size_of(instance, digests, 3));
}

TEST(BandwidthOfUnevenTest, WithoutTimeThereIsNone) {
  EXPECT_FALSE(bandwidth_of(Function::kAllReduce, 1000, 2, 0));
  EXPECT_FALSE(bandwidth_of(Function::kBarrier, 0, 2, 1000));
}

}  // namespace
}  // namespace dprof::analyzer
