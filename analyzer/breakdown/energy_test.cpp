// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/energy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dprof::analyzer {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kSecond = 1'000'000'000;

// Ten steps of one second each, from 1 s on, on each rank; one sample per second.
class EnergyTest : public ::testing::Test {
 protected:
  explicit EnergyTest(size_t ranks = 2) {
    for (size_t r = 0; r < ranks; ++r) {
      RankDigest& digest = digests_.emplace_back();
      digest.rank = static_cast<int>(r);
      digest.facts.devices = {{.uuid = "GPU-" + std::to_string(r), .kernels = 10}};
      traces_.push_back({.rank = static_cast<int>(r), .host = "node-a"});
      steps_.ranks.push_back(r);
      RankBreakdown of_rank{.rank = static_cast<int>(r), .wall_ns = 10 * kSecond};
      of_rank.category_ns[static_cast<size_t>(Category::kForward)] = 6 * kSecond;
      of_rank.category_ns[static_cast<size_t>(Category::kExposedWait)] = 4 * kSecond;
      breakdown_.per_rank.push_back(of_rank);
    }
    for (int64_t s = 0; s < 10; ++s) {
      const Interval window{{(s + 1) * kSecond}, {(s + 2) * kSecond}};
      steps_.steps.push_back({.index = s, .windows = {ranks, window}});
    }
    steps_.last_steady = 9;
  }

  // 300 W, sampled between the steps' borders, of a GPU of the run's host, in the first rank's
  // trace.
  GpuReadings& sample(const std::string& uuid, int64_t every_ns = kSecond) {
    GpuReadings& gpu = digests_[0].system.gpus.emplace_back();
    gpu.uuid = uuid;
    for (int64_t at = kSecond / 2; at <= 13 * kSecond; at += every_ns)
      gpu.energy_mj.push_back({{at}, 300'000 * at / kSecond});
    return gpu;
  }
  Energy energy() { return energy_of(digests_, traces_, steps_, breakdown_); }

  std::vector<RankDigest> digests_;
  std::vector<TraceFile> traces_;
  Steps steps_;
  Breakdown breakdown_;
};

TEST_F(EnergyTest, OfEachRanksGpu) {
  GpuReadings& gpu = sample("GPU-1");
  gpu.throttled_mj = gpu.energy_mj.back().value / 10;
  const Energy found = energy();
  ASSERT_EQ(found.per_rank.size(), 1U) << "the other GPU was not sampled";
  EXPECT_EQ(found.per_rank[0].rank, 1);
  EXPECT_EQ(found.missing, "1 of 2 ranks: the GPUs were not sampled");
  EXPECT_DOUBLE_EQ(found.per_rank[0].step_j, 300);
  EXPECT_DOUBLE_EQ(found.per_rank[0].waiting_j, 120) << "4 s of 10";
  EXPECT_DOUBLE_EQ(found.per_rank[0].bound_j, 60) << "two samples' energy, over ten steps";
  EXPECT_EQ(found.per_rank[0].throttled_share, 0.1);
}

TEST_F(EnergyTest, WithoutReasonsItIsNotKnownWhetherAGpuWasThrottled) {
  sample("GPU-1");
  EXPECT_EQ(energy().per_rank[0].throttled_share, std::nullopt);
}

TEST_F(EnergyTest, RanksThatShareAGpuHaveAPartOfItEach) {
  digests_[1].facts.devices[0].uuid = "GPU-0";
  sample("GPU-0", kSecond / 4);
  const Energy found = energy();
  ASSERT_EQ(found.per_rank.size(), 2U);
  EXPECT_DOUBLE_EQ(found.per_rank[1].step_j, 150);
  EXPECT_EQ(found.per_rank[1].shared_by, 2);
}

TEST_F(EnergyTest, SamplesThatAreTooFarApartGiveNone) {
  sample("GPU-0", 2 * kSecond);
  const Energy found = energy();
  EXPECT_THAT(found.per_rank, IsEmpty());
  EXPECT_THAT(found.missing, HasSubstr("too short"));
}

TEST_F(EnergyTest, SamplesThatDoNotReachOverTheStepsGiveNone) {
  GpuReadings& gpu = sample("GPU-0", kSecond / 4);
  gpu.energy_mj.resize(20);
  EXPECT_THAT(energy().per_rank, IsEmpty());
}

TEST_F(EnergyTest, OfAHostOnce) {
  for (RankDigest& digest : digests_) {
    digest.facts.devices.clear();
    for (int64_t at = 0; at <= 13 * kSecond; at += kSecond / 2)
      digest.system.host_energy_uj.push_back({{at}, 50'000'000 * at / kSecond});
  }
  const Energy found = energy();
  ASSERT_EQ(found.per_host.size(), 1U);
  EXPECT_EQ(found.per_host[0].host, "node-a");
  EXPECT_DOUBLE_EQ(found.per_host[0].step_j, 50);
  EXPECT_EQ(found.missing, "no GPU was used");
}

TEST_F(EnergyTest, SaysWhyThereIsNone) {
  EXPECT_THAT(energy().missing, HasSubstr("the GPUs were not sampled"));
  digests_[0].system.gpus = {{.uuid = "GPU-0"}};
  digests_[1].facts.devices.clear();
  EXPECT_THAT(energy().missing, HasSubstr("neither"));
  digests_[0].facts.devices.clear();
  EXPECT_THAT(energy().missing, HasSubstr("RAPL"));
}

}  // namespace
}  // namespace dprof::analyzer
