// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/run/spokesman.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "collector/recorder/test_support/drain_fixture.h"

namespace dprof::recorder {
namespace {

namespace fs = std::filesystem;

class SpokesmanTest : public ::testing::Test {
 protected:
  SpokesmanTest() { fs::create_directory(run_ / "recorders"); }
  test_support::TemporaryFolder scratch_;
  fs::path run_ = scratch_.path();
};

TEST_F(SpokesmanTest, TheFirstHasTheWordUntilItGivesItBack) {
  EXPECT_EQ(take_word(run_, "node-1"), std::nullopt);
  EXPECT_EQ(take_word(run_, "node-2"), "node-1");
  EXPECT_EQ(take_word(run_, "node-1"), "node-1");
  give_back_word(run_);
  EXPECT_EQ(take_word(run_, "node-2"), std::nullopt);
}

TEST_F(SpokesmanTest, OfManyAtOnceOneHasIt) {
  constexpr int kRecorders = 16;
  std::atomic<int> with_the_word = 0;
  std::vector<std::thread> recorders;
  for (int i = 0; i < kRecorders; ++i) {
    recorders.emplace_back([&, i] {
      if (!take_word(run_, "node-" + std::to_string(i))) ++with_the_word;
    });
  }
  for (std::thread& recorder : recorders) recorder.join();
  EXPECT_EQ(with_the_word, 1);
}

TEST_F(SpokesmanTest, WithoutOthersItIsOnesOwn) {
  fs::remove(run_ / "recorders");  // as after the last recorder of a run without a job
  EXPECT_EQ(take_word(run_, "node-1"), std::nullopt);
  EXPECT_EQ(take_word(run_, "node-1"), std::nullopt);
  EXPECT_FALSE(fs::exists(run_ / "recorders"));
}

TEST_F(SpokesmanTest, WhatLiesThereIsNotBelieved) {
  const fs::path file = run_ / "recorders" / "spokesman";
  std::ofstream(file) << std::string(100'000, '\xff');
  EXPECT_LT(take_word(run_, "node-1")->size(), 2000U);
  fs::remove(file);
  fs::create_symlink("/etc/hostname", file);
  EXPECT_EQ(take_word(run_, "node-1"), "") << "no link is followed";
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(take_word(run_, "node-1"), "") << "nobody is waited for";
}

}  // namespace
}  // namespace dprof::recorder
