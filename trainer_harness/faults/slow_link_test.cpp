// SPDX-License-Identifier: Apache-2.0
// Tests that the machine's own network is never touched. tests/end_to_end/test_hosts.py measures
// the limits themselves.
#include "trainer_harness/faults/slow_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <string>

#include "trainer_harness/common/usage_error.h"

namespace dprof::trainer_harness {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Environment variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> std::optional<std::string> {
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
}

std::string refusal(const Environment& environment) {
  try {
    const SlowLink link(environment);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "not refused";
}

std::string network_of(const char* process) {
  struct stat status {};
  return stat(process, &status) == 0 ? std::to_string(status.st_ino) : "not to be seen";
}

TEST(SlowLink, IsRefusedOutsideOfScriptsHosts) {
  EXPECT_THAT(refusal(variables({})), HasSubstr("not on a host of scripts/hosts"));
  EXPECT_THAT(refusal(variables({{"GLOO_SOCKET_IFNAME", "eth0"}})), HasSubstr("hint: start"));
}

TEST(SlowLink, IsRefusedWithTheVariablesOfAnotherNetwork) {
  EXPECT_THAT(refusal(variables({{"GLOO_SOCKET_IFNAME", "eth0"},
                                 {"DPROF_HOST_NETWORK", "1"},
                                 {"DPROF_LINK_CONTROL", "/nowhere"}})),
              HasSubstr("another network"));
}

TEST(SlowLink, IsRefusedInTheMachinesOwnNetworkWhateverTheVariablesSay) {
  if (network_of("/proc/self/ns/net") != network_of("/proc/1/ns/net")) {
    GTEST_SKIP() << "the test itself runs in a network namespace, or may not see that of process 1";
  }
  EXPECT_THAT(refusal(variables({{"GLOO_SOCKET_IFNAME", "eth0"},
                                 {"DPROF_HOST_NETWORK", network_of("/proc/self/ns/net")},
                                 {"DPROF_LINK_CONTROL", "/nowhere"}})),
              HasSubstr("another network"));
}

TEST(SlowLink, RateIsATokenBucketOfHalfAMillisecond) {
  EXPECT_THAT(tc_commands("eth0", {.rate_mbit = 200.0}, false),
              ElementsAre(ElementsAre("tc", "qdisc", "replace", "dev", "eth0", "root", "handle",
                                      "1:", "tbf", "rate", "200000000bit", "burst", "12500",
                                      "latency", "1s")));
  // Two frames must fit.
  EXPECT_EQ(tc_commands("eth0", {.rate_mbit = 1.0}, false)[0][12], "3200");
}

TEST(SlowLink, DelayAndLossAreNetemAboveTheBucket) {
  EXPECT_THAT(
      tc_commands("eth0", {.rate_mbit = 200.0, .delay_ms = 2.5, .loss = 0.01}, true),
      ElementsAre(
          ElementsAre("tc", "qdisc", "replace", "dev", "eth0", "root", "handle", "1:", "netem",
                      "limit", "100000", "delay", "2500us", "loss", "1.000000%"),
          ElementsAre("tc", "qdisc", "replace", "dev", "eth0", "parent", "1:1", "handle",
                      "10:", "tbf", "rate", "200000000bit", "burst", "12500", "latency", "1s")));
}

TEST(SlowLink, WithoutNetemDelayAndLossAreLeftToTheForwardingProcess) {
  EXPECT_THAT(tc_commands("eth0", {.delay_ms = 2.5, .loss = 0.01}, false), IsEmpty());
  EXPECT_EQ(tc_commands("eth0", {.rate_mbit = 10.0, .delay_ms = 2.5}, false).size(), 1U);
}

TEST(SlowLink, MeansAreOneLine) {
  const std::string means = slow_link_means();
  EXPECT_THAT(means, AnyOf(StartsWith("rate: tbf; delay, loss: "), StartsWith("not possible")));
  EXPECT_THAT(means, ::testing::Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace dprof::trainer_harness
