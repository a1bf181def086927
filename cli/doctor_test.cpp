// SPDX-License-Identifier: Apache-2.0
// `dprof doctor` as a program.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/test_support/process.h"

namespace dprof::cli {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(DoctorTest, TextHasEachCheckWithItsStateAndASummary) {
  const TemporaryFolder scratch;
  const Ended ended = run_dprof(scratch, {"doctor"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, IsEmpty());
  EXPECT_THAT(ended.out, Not(HasSubstr("\x1b")));
  for (const char* name : {"clock", "shared memory", "limits", "CUDA driver", "launchers"}) {
    EXPECT_THAT(ended.out, HasSubstr(name));
  }
  // A build with a sanitizer can record nothing, and says so.
  EXPECT_THAT(ended.out, AnyOf(HasSubstr("Can record:"), HasSubstr("Cannot record:")));
  // States and names are aligned in columns.
  std::istringstream lines(ended.out);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ") || line.size() < 12 || line[2] == ' ') continue;
    const std::string word = line.substr(2, line.find(' ', 2) - 2);
    if (word == "ok" || word == "no" || word == "limited") {
      EXPECT_NE(line[11], ' ') << line;
    }
  }
}

TEST(DoctorTest, JsonIsOneDocumentOfItsSchema) {
  const TemporaryFolder scratch;
  const Ended ended = run_dprof(scratch, {"doctor", "--format", "json"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const nlohmann::json report = nlohmann::json::parse(ended.out);
  EXPECT_EQ(report["schema"], "dprof.doctor/1");
  EXPECT_GE(report["checks"].size(), 15u);
  for (const nlohmann::json& check : report["checks"]) {
    const std::string state = check["state"];
    EXPECT_TRUE(state == "ok" || state == "limited" || state == "no") << check;
    EXPECT_EQ(state == "ok", check["meaning"].is_null()) << check;
  }
  EXPECT_TRUE(std::ranges::all_of(report["recordable"], [](const nlohmann::json& one) {
    return one["can"].get<bool>() == one["why_not"].is_null();
  }));
}

// Run by the self-test; without a recorder there is no tool to take the range.
TEST(DoctorTest, RangeWithoutAToolIsRefused) {
  const TemporaryFolder scratch;
  unsetenv("NVTX_INJECTION64_PATH");
  EXPECT_EQ(run_dprof(scratch, {"doctor", "--emit-range"}).code, 125);
}

}  // namespace
}  // namespace dprof::cli
