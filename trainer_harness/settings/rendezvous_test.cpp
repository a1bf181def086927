// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/settings/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "trainer_harness/faults/fault.h"

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
