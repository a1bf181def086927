// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/ranks/rank.h"

#include <gtest/gtest.h>

namespace dprof::recorder {
namespace {

struct RankCase {
  const char* name;
  Variables variables;
  std::optional<int> rank;
  const char* launcher;
};

class RankTest : public ::testing::TestWithParam<RankCase> {};

TEST_P(RankTest, FindsTheLauncherThatIsTheTruth) {
  const RankInfo info = find_rank(GetParam().variables);
  EXPECT_EQ(info.rank, GetParam().rank);
  EXPECT_EQ(info.launcher, GetParam().launcher);
}

INSTANTIATE_TEST_SUITE_P(
    Launchers, RankTest,
    ::testing::Values(
        RankCase{"nothing", {}, std::nullopt, "none"},
        RankCase{"torchrun",
                 {{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"TORCHELASTIC_RUN_ID", "x"}},
                 5,
                 "torchrun"},
        RankCase{"by_hand", {{"RANK", "1"}, {"WORLD_SIZE", "2"}}, 1, "none"},
        RankCase{"rank_alone_is_no_rank", {{"RANK", "1"}}, std::nullopt, "none"},
        RankCase{"torchrun_inside_slurm",
                 {{"SLURM_PROCID", "0"},
                  {"SLURM_NTASKS", "2"},
                  {"RANK", "9"},
                  {"WORLD_SIZE", "16"},
                  {"TORCHELASTIC_RUN_ID", "x"}},
                 9,
                 "torchrun"},
        RankCase{"openmpi",
                 {{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "7"}},
                 3,
                 "openmpi"},
        RankCase{"mpich", {{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}}, 2, "mpich"},
        RankCase{"slurm", {{"SLURM_PROCID", "6"}, {"SLURM_NTASKS", "8"}}, 6, "slurm"},
        RankCase{"given", {{"DPROF_RANK", "4"}, {"PMI_RANK", "2"}}, 4, "mpich"},
        RankCase{"no_number", {{"PMI_RANK", "two"}}, std::nullopt, "none"},
        RankCase{"negative", {{"PMI_RANK", "-1"}}, std::nullopt, "none"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(RankTest, TakesTheOtherNumbersFromTheSameLauncher) {
  const RankInfo info = find_rank({{"RANK", "5"},
                                   {"WORLD_SIZE", "8"},
                                   {"LOCAL_RANK", "1"},
                                   {"LOCAL_WORLD_SIZE", "4"},
                                   {"GROUP_RANK", "1"},
                                   {"TORCHELASTIC_RESTART_COUNT", "2"},
                                   {"TORCHELASTIC_RUN_ID", "x"}});
  EXPECT_EQ(info.world_size, 8);
  EXPECT_EQ(info.local_rank, 1);
  EXPECT_EQ(info.local_world_size, 4);
  EXPECT_EQ(info.node_rank, 1);
  EXPECT_EQ(info.restart_count, 2);
}

TEST(ParseVariablesTest, LeavesOutWhatIsNoEntry) {
  const Variables variables = parse_variables(std::string_view("A=1\0junk\0=x\0B=2=3\0", 17), '\0');
  EXPECT_EQ(variables, (Variables{{"A", "1"}, {"B", "2=3"}}));
  EXPECT_EQ(parse_variables("A=1\nB=", '\n'), (Variables{{"A", "1"}, {"B", ""}}));
}

}  // namespace
}  // namespace dprof::recorder
