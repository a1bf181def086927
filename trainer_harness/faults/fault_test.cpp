// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/faults/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace dprof::trainer_harness {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Fault, ReadsEveryKey) {
  const Fault fault = parse_fault("backward:rank=3,ms=1.5,from=10,to=20,every=4,mode=busy");
  EXPECT_EQ(fault.kind, FaultKind::kBackward);
  EXPECT_EQ(fault.rank, 3);
  EXPECT_DOUBLE_EQ(fault.ms, 1.5);
  EXPECT_EQ(fault.from, 10);
  EXPECT_EQ(fault.to, 20);
  EXPECT_EQ(fault.every, 4);
  EXPECT_TRUE(fault.busy);
}

TEST(Fault, StrikesItsRankKindAndSteps) {
  const Fault fault = parse_fault("loader:rank=1,ms=2,from=10,to=20,every=4");
  EXPECT_TRUE(strikes(fault, FaultKind::kLoader, 1, 10));
  EXPECT_TRUE(strikes(fault, FaultKind::kLoader, 1, 18));
  EXPECT_FALSE(strikes(fault, FaultKind::kLoader, 1, 12)) << "every 4th";
  EXPECT_FALSE(strikes(fault, FaultKind::kLoader, 1, 9));
  EXPECT_FALSE(strikes(fault, FaultKind::kLoader, 1, 22)) << "past the end";
  EXPECT_FALSE(strikes(fault, FaultKind::kLoader, 0, 10)) << "another rank";
  EXPECT_FALSE(strikes(fault, FaultKind::kCompute, 1, 10)) << "another kind";
}

class FaultMode : public ::testing::TestWithParam<const char*> {};

TEST_P(FaultMode, HoldsTheThreadThatLong) {
  const Fault fault = parse_fault(std::string("compute:rank=0,ms=20,mode=") + GetParam());
  const auto begin = std::chrono::steady_clock::now();
  suffer(fault);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
}

INSTANTIATE_TEST_SUITE_P(Modes, FaultMode, ::testing::Values("sleep", "busy"));

struct BadFault {
  const char* name;
  const char* text;
  const char* want;
};

class FaultRefused : public ::testing::TestWithParam<BadFault> {};

TEST_P(FaultRefused, SaysWhatAndHow) {
  try {
    (void)parse_fault(GetParam().text);
    FAIL() << GetParam().text << " was taken";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(GetParam().want), HasSubstr("\nhint: ")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Texts, FaultRefused,
    ::testing::Values(BadFault{"empty", "", "no fault is called ''"},
                      BadFault{"unknown_kind", "laoder:rank=1,ms=1", "no fault is called 'laoder'"},
                      BadFault{"unknown_key", "loader:rank=1,sec=1", "no key is called 'sec'"},
                      BadFault{"no_rank", "loader:ms=1", "rank and ms are needed"},
                      BadFault{"no_ms", "loader:rank=1", "rank and ms are needed"},
                      BadFault{"no_keys", "loader", "rank and ms are needed"},
                      BadFault{"not_a_pair", "loader:rank", "'rank' is not key=value"},
                      BadFault{"negative_rank", "loader:rank=-1,ms=1", "rank=-1"},
                      BadFault{"huge_rank", "loader:rank=9999999999,ms=1", "no job has"},
                      BadFault{"zero_ms", "loader:rank=1,ms=0", "ms=0"},
                      BadFault{"nan_ms", "loader:rank=1,ms=nan", "ms=nan"},
                      BadFault{"trailing", "loader:rank=1,ms=5s", "ms=5s"},
                      BadFault{"mode", "loader:rank=1,ms=5,mode=lazy", "mode=lazy"},
                      BadFault{"every", "loader:rank=1,ms=5,every=0", "every=0"},
                      BadFault{"empty_range", "loader:rank=1,ms=5,from=5,to=5", "no step lies"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace dprof::trainer_harness
