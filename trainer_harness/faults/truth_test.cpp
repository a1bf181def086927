// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/faults/truth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "trainer_harness/faults/truth_log.h"
#include "trainer_harness/faults/truth_merge.h"

namespace dprof::trainer_harness {
namespace {

namespace fs = std::filesystem;

RankTruth rank_truth(int rank) {
  RankTruth truth;
  truth.rank = rank;
  truth.batch = 10;
  truth.steps = {{100, 20}, {130, 21}};
  truth.samples = {10, 10};
  truth.index_hashes = {0xab, 0xcd};
  truth.checksum = "00000000000000ff";
  return truth;
}

nlohmann::json read(const fs::path& file) { return nlohmann::json::parse(std::ifstream(file)); }

class TruthTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // An account of two steps; each test ends it as it needs.
  std::unique_ptr<TruthLog> log(const RankTruth& truth, bool restarted = false) {
    return std::make_unique<TruthLog>(file_, JobTruth{"toy", "gloo", 2, 42, {fault_}}, truth,
                                      restarted);
  }

  const fs::path folder_ = fs::path(testing::TempDir()) /
                           ("dprof_truth_" + std::to_string(getpid()) + "_" +
                            testing::UnitTest::GetInstance()->current_test_info()->name());
  const fs::path file_ = folder_ / "truth.json";
  const Fault fault_ = parse_fault("loader:rank=1,ms=6");
};

TEST_F(TruthTest, GathersTheStrikesOfEachFaultFromItsRank) {
  RankTruth one = rank_truth(1);
  one.strikes = {{1, 0, {1000, 105}, 5}, {1, 1, {1030, 135}, 8}, {2, 1, {1040, 145}, kNoDuration}};
  one.deeds = {{2, "bytes", int64_t{1} << 20}};
  const std::vector<Fault> faults = {parse_fault("compute:rank=0,ms=3,from=1000"),
                                     parse_fault("loader:rank=1,ms=6"),
                                     parse_fault("leak:rank=all")};
  write_truth(file_, {"toy", "gloo", 2, 42, faults}, {encode(rank_truth(0)), encode(one)});

  const nlohmann::json truth = read(file_);
  EXPECT_EQ(truth.at("schema"), "dprof.truth/1");
  EXPECT_EQ(truth.at("batch"), 10);
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
  EXPECT_EQ(struck.at("strikes").at(1).at("rank"), 1);
  const auto& timeless = truth.at("injected").at(2);
  EXPECT_EQ(timeless.at("rank"), "all");
  EXPECT_EQ(timeless.at("count"), 1);
  EXPECT_TRUE(timeless.at("mean_ns").is_null()) << "no strike has a length";
  EXPECT_EQ(timeless.at("done"), nlohmann::json::parse(R"([{"bytes":1048576,"rank":1}])"));
  EXPECT_EQ(truth.at("ranks").at(1).at("step_ns"), nlohmann::json({20, 21}));
}

TEST_F(TruthTest, RefusesAFileThatCannotBeWritten) {
  EXPECT_THROW(write_truth("/proc/dprof/no", {}, {encode(rank_truth(0))}), std::runtime_error);
  const RankTruth truth = rank_truth(0);
  EXPECT_THROW(TruthLog("/proc/dprof/no", {}, truth, false), std::runtime_error);
}

TEST_F(TruthTest, MergesWholeAccountsAndRemovesThem) {
  for (const int rank : {0, 1}) {
    const RankTruth truth = rank_truth(rank);
    const auto account = log(truth);
    if (rank == 1) account->strike({0, 1, {1030, 135}, 8});
    account->end();
  }
  merge_truth(file_);
  const nlohmann::json truth = read(file_);
  EXPECT_EQ(truth.at("seed"), 42);
  EXPECT_EQ(truth.at("injected").at(0).at("total_ns"), 8);
  for (const auto& rank : truth.at("ranks")) {
    EXPECT_EQ(rank.at("ended"), true);
    EXPECT_EQ(rank.at("step_ns"), nlohmann::json({20, 21}));
    EXPECT_EQ(rank.at("samples"), nlohmann::json({10, 10}));
    EXPECT_EQ(rank.at("index_hash"), nlohmann::json({"00000000000000ab", "00000000000000cd"}));
    EXPECT_EQ(rank.at("checksum"), "00000000000000ff");
    EXPECT_EQ(rank.at("damaged_lines"), 0);
  }
  EXPECT_FALSE(fs::exists(truth_part(file_, 0)));
  EXPECT_FALSE(fs::exists(truth_part(file_, 1)));
}

TEST_F(TruthTest, ARankWithoutAnEndIsThereWithWhatItHadDone) {
  const RankTruth zero = rank_truth(0);
  log(zero)->fail("connection closed by peer\nhint: none");
  const RankTruth one = rank_truth(1);
  const auto account = log(one);
  account->flush_steps();
  account->strike({0, 2, {1050, 155}, kNoDuration});  // and here it was killed
  {
    std::ofstream half(truth_part(file_, 1), std::ios::app);
    half << R"({"event":"strike","fault":0,"ste)";
  }
  merge_truth(file_);
  const nlohmann::json truth = read(file_);
  EXPECT_EQ(truth.at("ranks").at(0).at("failure"), "connection closed by peer");
  EXPECT_TRUE(truth.at("ranks").at(0).at("ended").is_null());
  const auto& killed = truth.at("ranks").at(1);
  EXPECT_TRUE(killed.at("ended").is_null());
  EXPECT_TRUE(killed.at("failure").is_null());
  EXPECT_EQ(killed.at("step_ns"), nlohmann::json({20, 21}));
  EXPECT_EQ(killed.at("damaged_lines"), 1);
  EXPECT_EQ(truth.at("injected").at(0).at("count"), 1);
  EXPECT_TRUE(truth.at("injected").at(0).at("strikes").at(0).at("duration_ns").is_null());
  EXPECT_TRUE(fs::exists(truth_part(file_, 1))) << "it is all that is left of that rank";
}

TEST_F(TruthTest, ARankThatLeftNothingIsThereToo) {
  const RankTruth zero = rank_truth(0);
  log(zero)->end();
  merge_truth(file_);
  const nlohmann::json missing = read(file_).at("ranks").at(1);
  EXPECT_TRUE(missing.at("ended").is_null());
  EXPECT_EQ(missing.at("attempts"), 0);
}

TEST_F(TruthTest, TakesWhatWasSentWhereTheFileIsOnAnotherHost) {
  const RankTruth zero = rank_truth(0);
  log(zero)->end();
  merge_truth(file_, {encode(zero), encode(rank_truth(1))});
  EXPECT_EQ(read(file_).at("ranks").at(1).at("ended"), true);
  EXPECT_FALSE(fs::exists(truth_part(file_, 0)));
}

TEST_F(TruthTest, ARestartKeepsTheStrikesOfTheLostAttempt) {
  const RankTruth zero = rank_truth(0);
  log(zero)->end();
  const RankTruth first = rank_truth(1);
  const auto lost = log(first);
  lost->flush_steps();
  lost->strike({0, 2, {1050, 155}, kNoDuration});
  RankTruth second = rank_truth(1);
  second.steps.pop_back();
  log(second, /*restarted=*/true)->end();
  merge_truth(file_);
  const nlohmann::json truth = read(file_);
  EXPECT_EQ(truth.at("ranks").at(1).at("attempts"), 2);
  EXPECT_EQ(truth.at("ranks").at(1).at("step_ns"), nlohmann::json({20}));
  EXPECT_EQ(truth.at("injected").at(0).at("count"), 1);
}

TEST_F(TruthTest, ClearsWhatEarlierRunsLeft) {
  for (const char* name : {"truth.json", "truth.json.rank-0", "truth.json.rank-12",
                           "truth.json.rank-x", "other.json"}) {
    std::ofstream(folder_ / name) << "{}";
  }
  clear_truth(file_);
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    left.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(left, ::testing::UnorderedElementsAre("truth.json.rank-x", "other.json"));
}

TEST_F(TruthTest, MergingNothingIsRefused) { EXPECT_THROW(merge_truth(file_), std::runtime_error); }

TEST_F(TruthTest, KeepsStepsForAHundredOrASecond) {
  RankTruth truth = rank_truth(0);
  const auto account = log(truth);
  account->flush_steps();
  const auto size = fs::file_size(truth_part(file_, 0));
  truth.steps.push_back({150, 10});
  account->note_steps();
  EXPECT_EQ(fs::file_size(truth_part(file_, 0)), size);
  truth.steps.push_back({2'000'000'000, 10});
  account->note_steps();
  EXPECT_GT(fs::file_size(truth_part(file_, 0)), size);
}

}  // namespace
}  // namespace dprof::trainer_harness
