// SPDX-License-Identifier: Apache-2.0
#include "cli/mpi/launcher.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace dprof::cli {
namespace {

std::optional<Launched> launched(const std::map<std::string, const char*>& variables) {
  return find_launched([&](const char* name) {
    const auto known = variables.find(name);
    return known == variables.end() ? nullptr : known->second;
  });
}

TEST(Launcher, EachSaysItInItsOwnWords) {
  for (const auto& [number, of] : {std::pair{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                   {"PMI_RANK", "PMI_SIZE"},
                                   {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}}) {
    const std::optional<Launched> found = launched({{number, "2"}, {of, "8"}});
    ASSERT_TRUE(found) << number;
    EXPECT_EQ(found->number, 2U);
    EXPECT_EQ(found->of, 8U);
  }
}

TEST(Launcher, ABatchScriptWasStartedByNone) {
  EXPECT_FALSE(launched({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "1"}}));
  EXPECT_FALSE(launched({{"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_PROCID", "3"}}));
  EXPECT_FALSE(launched({}));
}

TEST(Launcher, NonsenseIsNone) {
  EXPECT_FALSE(launched({{"PMI_RANK", "8"}, {"PMI_SIZE", "8"}}));
  EXPECT_FALSE(launched({{"PMI_RANK", "-1"}, {"PMI_SIZE", "8"}}));
  EXPECT_FALSE(launched({{"PMI_RANK", "1x"}, {"PMI_SIZE", "8"}}));
  EXPECT_FALSE(launched({{"PMI_RANK", "1"}}));
}

}  // namespace
}  // namespace dprof::cli
