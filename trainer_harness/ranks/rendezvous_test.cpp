// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/ranks/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "trainer_harness/common/usage_error.h"

namespace dprof::trainer_harness {
namespace {

using Variables = std::map<std::string, std::string>;

Environment of(const Variables& variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(Rendezvous, IsASingleProcessWhenNothingIsSet) {
  EXPECT_FALSE(find_rendezvous(of({})).has_value());
  EXPECT_FALSE(find_rendezvous(of({{"MASTER_ADDR", "127.0.0.1"}})).has_value());
}

TEST(Rendezvous, ReadsTorchrun) {
  const auto found = find_rendezvous(of({{"RANK", "3"},
                                         {"WORLD_SIZE", "4"},
                                         {"LOCAL_RANK", "1"},
                                         {"MASTER_ADDR", "node-a"},
                                         {"MASTER_PORT", "29500"},
                                         {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                         {"OMPI_COMM_WORLD_RANK", "0"}}));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->rank, 3);
  EXPECT_EQ(found->world_size, 4);
  EXPECT_EQ(found->local_rank, 1);
  EXPECT_EQ(found->master_address, "node-a");
  EXPECT_EQ(found->master_port, 29500);
  EXPECT_TRUE(found->agent_serves);
}

TEST(Rendezvous, ReadsOpenMpi) {
  const auto found = find_rendezvous(of({{"OMPI_COMM_WORLD_RANK", "1"},
                                         {"OMPI_COMM_WORLD_SIZE", "2"},
                                         {"MASTER_ADDR", "127.0.0.1"},
                                         {"MASTER_PORT", "1"}}));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->rank, 1);
  EXPECT_EQ(found->world_size, 2);
  EXPECT_EQ(found->local_rank, 1) << "one host, where nothing says otherwise";
  EXPECT_FALSE(found->agent_serves);
}

TEST(Rendezvous, DerivesOpenMpisMeetingPlaceOnOneHost) {
  Variables job = {{"OMPI_COMM_WORLD_RANK", "1"},
                   {"OMPI_COMM_WORLD_SIZE", "2"},
                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                   {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                   {"PMIX_NAMESPACE", "164364289"}};
  const auto found = find_rendezvous(of(job));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->master_address, "127.0.0.1");
  EXPECT_GE(found->master_port, 15'000);
  EXPECT_LT(found->master_port, 25'000);
  job["OMPI_COMM_WORLD_RANK"] = "0";
  job["OMPI_COMM_WORLD_LOCAL_RANK"] = "0";
  EXPECT_EQ(find_rendezvous(of(job))->master_port, found->master_port) << "the ranks must meet";
  job["PMIX_NAMESPACE"] = "164364290";
  EXPECT_NE(find_rendezvous(of(job))->master_port, found->master_port) << "another job";
  job["OMPI_COMM_WORLD_LOCAL_SIZE"] = "1";
  EXPECT_THROW((void)find_rendezvous(of(job)), UsageError) << "several hosts: which has rank 0?";
}

struct SlurmHosts {
  const char* name;
  Variables variables;
  const char* want;
};

class RendezvousOfSlurm : public ::testing::TestWithParam<SlurmHosts> {};

TEST_P(RendezvousOfSlurm, IsOnTheFirstHost) {
  Variables job = {{"SLURM_PROCID", "3"},
                   {"SLURM_NTASKS", "4"},
                   {"SLURM_LOCALID", "1"},
                   {"SLURM_JOB_ID", "1234"},
                   {"SLURM_STEP_ID", "0"}};
  job.insert(GetParam().variables.begin(), GetParam().variables.end());
  const auto found = find_rendezvous(of(job));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->rank, 3);
  EXPECT_EQ(found->local_rank, 1);
  EXPECT_EQ(found->master_address, GetParam().want);
  EXPECT_GE(found->master_port, 15'000);
}

INSTANTIATE_TEST_SUITE_P(
    Lists, RendezvousOfSlurm,
    ::testing::Values(
        SlurmHosts{"one_host", {{"SLURM_NNODES", "1"}, {"SLURM_NODELIST", "gpu7"}}, "127.0.0.1"},
        SlurmHosts{"a_range", {{"SLURM_NNODES", "2"}, {"SLURM_NODELIST", "gpu[07-08]"}}, "gpu07"},
        SlurmHosts{"a_list", {{"SLURM_NODELIST", "gpu[7,9]"}}, "gpu7"},
        SlurmHosts{"two_names", {{"SLURM_NODELIST", "big,gpu[7-9]"}}, "big"},
        SlurmHosts{"the_steps_own",
                   {{"SLURM_STEP_NODELIST", "b[2-3]"}, {"SLURM_NODELIST", "b[1-3]"}},
                   "b2"},
        SlurmHosts{"no_list", {{"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.5"}}, "10.0.0.5"},
        SlurmHosts{"given", {{"MASTER_ADDR", "head"}, {"SLURM_NODELIST", "gpu[7-9]"}}, "head"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Rendezvous, TakesALocalRankFromTheCommandLine) {
  Variables job = {{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}};
  EXPECT_EQ(find_rendezvous(of(job), 1)->local_rank, 1);
  EXPECT_EQ(find_rendezvous(of(job), -1)->local_rank, 3);
  EXPECT_THROW((void)find_rendezvous(of(job), 4), UsageError);
  job["LOCAL_RANK"] = "1";
  EXPECT_EQ(find_rendezvous(of(job), 1)->local_rank, 1);
  EXPECT_THROW((void)find_rendezvous(of(job), 0), UsageError) << "which of them?";
}

struct BadEnvironment {
  const char* name;
  Variables variables;
  const char* want;
};

class RendezvousRefused : public ::testing::TestWithParam<BadEnvironment> {};

TEST_P(RendezvousRefused, NamesTheVariable) {
  try {
    (void)find_rendezvous(of(GetParam().variables));
    FAIL() << "was taken";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr(GetParam().want));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Environments, RendezvousRefused,
    ::testing::Values(
        BadEnvironment{"no_rank", {{"WORLD_SIZE", "2"}}, "RANK is not set, but WORLD_SIZE is"},
        BadEnvironment{"no_world", {{"RANK", "0"}}, "WORLD_SIZE is not set, but RANK is"},
        BadEnvironment{"no_address",
                       {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "1"}},
                       "MASTER_ADDR is not set, but RANK is"},
        BadEnvironment{"no_port",
                       {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}},
                       "MASTER_PORT is not set, but RANK is"},
        BadEnvironment{"rank_too_large", {{"RANK", "2"}, {"WORLD_SIZE", "2"}}, "RANK=2"},
        BadEnvironment{"not_a_number", {{"RANK", "0"}, {"WORLD_SIZE", "two"}}, "WORLD_SIZE=two"},
        BadEnvironment{
            "port_too_large",
            {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "65536"}},
            "MASTER_PORT=65536"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace dprof::trainer_harness
