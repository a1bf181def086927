// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/sink/run_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "analyzer/run/run.h"
#include "tests/support/temporary_folder.h"

namespace dprof::analyzer {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr std::string_view kOne = R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}])";

class RunSinkTest : public ::testing::Test {
 protected:
  fs::path file(const std::string& name, std::string_view text = kOne) {
    std::ofstream(folder_.path() / name) << text;
    return folder_.path() / name;
  }
  [[nodiscard]] fs::path run() const { return folder_.path() / "run"; }
  [[nodiscard]] std::vector<std::string> names(const fs::path& folder) const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder))
      all.push_back(entry.path().filename().string());
    return all;
  }

  test_support::TemporaryFolder folder_;
};

TEST_F(RunSinkTest, TheFolderIsARun) {
  const auto summary = import_files({file("x.json"), file("y.json")}, run(), {});
  ASSERT_TRUE(summary.ok());
  EXPECT_THAT(names(run()),
              UnorderedElementsAre("rank-00000.dprof", "rank-00001.dprof", "run.json"));
  EXPECT_THAT(names(folder_.path()), UnorderedElementsAre("x.json", "y.json", "run"));
  std::ifstream index(run() / "run.json");
  const auto json = nlohmann::json::parse(index);
  EXPECT_EQ(json["schema"], "dprof.run/1");
  EXPECT_EQ(json["traces"].size(), 2U);
  const auto opened = open_run({run()});
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->traces.size(), 2U);
}

TEST_F(RunSinkTest, ARunIsReplacedOnlyOnRequestAndOtherFilesStay) {
  const fs::path one = file("x.json");
  ASSERT_TRUE(import_files({one, file("y.json")}, run(), {}).ok());
  std::ofstream(run() / "notes.txt") << "mine";
  const auto refused = import_files({one}, run(), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUsage);
  EXPECT_THAT(refused.error().hint, HasSubstr("--overwrite"));
  EXPECT_EQ(names(run()).size(), 4U);
  ASSERT_TRUE(import_files({one}, run(), {.overwrite = true}).ok());
  EXPECT_THAT(names(run()), UnorderedElementsAre("rank-00000.dprof", "run.json", "notes.txt"));
}

TEST_F(RunSinkTest, AFailureLeavesNothingBehind) {
  const auto nothing = import_files({file("x.json", "no JSON at all")}, run(), {});
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().code, Code::kNotATrace);
  EXPECT_FALSE(import_files({folder_.path() / "missing.json"}, run(), {}).ok());
  EXPECT_FALSE(import_files({file("y.json", "{\"a\": 1}")}, run(), {}).ok()) << "no events";
  const auto cancelled =
      import_files({file("z.json")}, run(), {}, [](const fs::path&, double) { return false; });
  ASSERT_FALSE(cancelled.ok());
  EXPECT_THAT(names(folder_.path()), UnorderedElementsAre("x.json", "y.json", "z.json"));
}

TEST_F(RunSinkTest, AFailedOverwriteKeepsTheOldRun) {
  ASSERT_TRUE(import_files({file("x.json")}, run(), {}).ok());
  EXPECT_FALSE(import_files({file("y.json", "nothing")}, run(), {.overwrite = true}).ok());
  EXPECT_THAT(names(run()), UnorderedElementsAre("rank-00000.dprof", "run.json"));
}

TEST_F(RunSinkTest, WhatIsReadableIsImportedAndTheRestIsNamed) {
  const auto summary = import_files({file("x.json"), file("y.json", "broken")}, run(), {});
  ASSERT_TRUE(summary.ok());
  EXPECT_TRUE(summary->damaged);
  EXPECT_EQ(summary->files.size(), 1U);
  EXPECT_THAT(summary->diagnostics.at(0).text, HasSubstr("y.json"));
}

TEST_F(RunSinkTest, AFolderStandsForItsFilesOfKnownFormats) {
  fs::create_directory(folder_.path() / "traces");
  std::ofstream(folder_.path() / "traces" / "a.json") << kOne;
  std::ofstream(folder_.path() / "traces" / "expected.csv") << "a,b\n";
  std::ofstream(folder_.path() / "traces" / "settings.json") << "{\"lr\": 0.1}";
  const auto summary = import_files({folder_.path() / "traces"}, run(), {});
  ASSERT_TRUE(summary.ok()) << summary.error().what;
  EXPECT_FALSE(summary->damaged);
  EXPECT_EQ(summary->files.size(), 1U);
}

TEST_F(RunSinkTest, ARankThatComesTwiceHasTwoTraces) {
  constexpr std::string_view kRank =
      R"({"distributedInfo":{"rank":5,"world_size":6},"traceEvents":[]})";
  const auto summary = import_files({file("x.json", kRank), file("y.json", kRank)}, run(), {});
  ASSERT_TRUE(summary.ok());
  EXPECT_THAT(names(run()),
              UnorderedElementsAre("rank-00005.dprof", "rank-00005.1.dprof", "run.json"));
  EXPECT_THAT(summary->files[0].ranks, UnorderedElementsAre(5));
}

}  // namespace
}  // namespace dprof::analyzer
