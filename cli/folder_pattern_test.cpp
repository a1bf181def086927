// SPDX-License-Identifier: Apache-2.0
#include "cli/folder_pattern.h"

#include <gmock/gmock.h>

#include <map>

namespace dprof::cli {
namespace {

using ::testing::HasSubstr;

Result<std::string> expanded(const std::string& pattern,
                             const std::map<std::string, std::string>& variables = {}) {
  return expand_pattern(pattern, {"node7", 42, [&](const char* name) -> const char* {
                                    const auto found = variables.find(name);
                                    return found == variables.end() ? nullptr
                                                                    : found->second.c_str();
                                  }});
}

TEST(FolderPatternTest, SaysWhereTheJobRuns) {
  EXPECT_EQ(*expanded("runs/plain"), "runs/plain");
  EXPECT_EQ(*expanded("%h-%p"), "node7-42");
  EXPECT_EQ(*expanded("100%%"), "100%");
  EXPECT_EQ(*expanded("/s/%q{USER}/%q{EXP}", {{"USER", "ada"}, {"EXP", "a%h"}}), "/s/ada/a%h")
      << "a value is taken as it is";
  EXPECT_EQ(*expanded("%j", {{"SLURM_JOB_ID", "7"}}), "7");
  EXPECT_EQ(*expanded("%j", {{"PBS_JOBID", "8.server"}}), "8.server");
}

TEST(FolderPatternTest, RefusesWhatItDoesNotKnow) {
  for (const char* wrong : {"%", "a%", "%x", "%q", "%qUSER", "%q{USER", "%q{}", "%q{NOT}", "%j"}) {
    const Result<std::string> refused = expanded(wrong, {{"USER", "ada"}});
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_EQ(refused.error().code, Code::kUsage);
    EXPECT_THAT(refused.error().what, HasSubstr(wrong));
    EXPECT_FALSE(refused.error().hint.empty());
  }
}

}  // namespace
}  // namespace dprof::cli
