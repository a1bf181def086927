// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/faults/truth.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "trainer_harness/faults/injector.h"

namespace dprof::trainer_harness {
namespace {

RankTruth rank_truth(int rank) {
  RankTruth truth;
  truth.rank = rank;
  truth.steps = {{100, 20}, {130, 21}};
  truth.checksum = "00000000000000ff";
  return truth;
}

TEST(Truth, GathersTheStrikesOfEachFaultFromItsRank) {
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) / "dprof_truth_test.json";
  RankTruth one = rank_truth(1);
  one.strikes = {{1, 0, {1000, 105}, 5}, {1, 1, {1030, 135}, 8}};
  const std::vector<Fault> faults = {parse_fault("compute:rank=0,ms=3,from=1000"),
                                     parse_fault("loader:rank=1,ms=6")};
  write_truth(file, {"toy", "gloo", 2, 10, 42, faults}, {encode(rank_truth(0)), encode(one)});

  const nlohmann::json truth = nlohmann::json::parse(std::ifstream(file));
  std::filesystem::remove(file);
  EXPECT_EQ(truth.at("schema"), "dprof.truth/1");
  const auto& idle = truth.at("injected").at(0);
  EXPECT_EQ(idle.at("kind"), "compute");
  EXPECT_EQ(idle.at("count"), 0);
  EXPECT_TRUE(idle.at("mean_ns").is_null()) << "it never struck: there is no mean";
  EXPECT_TRUE(idle.at("to").is_null()) << "it has no end";
  const auto& struck = truth.at("injected").at(1);
  EXPECT_EQ(struck.at("rank"), 1);
  EXPECT_EQ(struck.at("count"), 2);
  EXPECT_EQ(struck.at("total_ns"), 13);
  EXPECT_EQ(struck.at("mean_ns"), 6);
  EXPECT_EQ(struck.at("strikes").at(1).at("begin").at("monotonic_raw_ns"), 135);
  EXPECT_EQ(truth.at("ranks").at(1).at("step_ns"), nlohmann::json({20, 21}));
}

TEST(Truth, RefusesAFileThatCannotBeWritten) {
  EXPECT_THROW(write_truth("/proc/dprof/no", {}, {encode(rank_truth(0))}), std::runtime_error);
}

TEST(FaultInjector, KeepsAccountOfWhatItDid) {
  RankTruth truth = rank_truth(1);
  FaultInjector injector({parse_fault("loader:rank=1,ms=2"), parse_fault("loader:rank=0,ms=500")},
                         2, truth);
  injector.visit(Place::kInput, 7);
  injector.visit(Place::kForward, 7);
  ASSERT_EQ(truth.strikes.size(), 1U);
  EXPECT_EQ(truth.strikes[0].fault, 0U);
  EXPECT_EQ(truth.strikes[0].step, 7);
  EXPECT_GE(truth.strikes[0].duration_ns, 2'000'000);
  EXPECT_TRUE(injector.acts_at(Place::kInput));
  EXPECT_FALSE(injector.acts_at(Place::kBackward));
}

}  // namespace
}  // namespace dprof::trainer_harness
