// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/faults/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace dprof::trainer_harness {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Fault, ReadsEveryKey) {
  const Fault fault = parse_fault("backward:rank=3,ms=1.5,from=10,to=20,every=4,mode=spin");
  EXPECT_EQ(fault.kind, FaultKind::kBackward);
  EXPECT_EQ(fault.rank, 3);
  EXPECT_DOUBLE_EQ(fault.ms, 1.5);
  EXPECT_EQ(fault.from, 10);
  EXPECT_EQ(fault.to, 20);
  EXPECT_EQ(fault.every, 4);
  EXPECT_TRUE(fault.spin);
  EXPECT_FALSE(fault.once);
  const Fault link = parse_fault("slow-link:rank=0,rate=50,delay=2.5,loss=0.01");
  EXPECT_DOUBLE_EQ(link.rate_mbit, 50);
  EXPECT_DOUBLE_EQ(link.delay_ms, 2.5);
  EXPECT_DOUBLE_EQ(link.loss, 0.01);
  EXPECT_DOUBLE_EQ(parse_fault("bucket-cap:mb=0.5").mb, 0.5);
  EXPECT_DOUBLE_EQ(parse_fault("skewed-batch:rank=0,share=1.5").share, 1.5) << "it may double";
}

TEST(Fault, AStepIsOneStepAndOnce) {
  const Fault fault = parse_fault("kill:rank=1,step=7");
  EXPECT_EQ(fault.from, 7);
  EXPECT_EQ(fault.to, 8);
  EXPECT_TRUE(fault.once);
}

TEST(Fault, EachKindHasItsOwnDefaults) {
  EXPECT_TRUE(parse_fault("compute:rank=0,ms=1").spin);
  EXPECT_TRUE(parse_fault("optimizer:rank=0,ms=1").spin);
  for (const char* kind : {"forward", "backward", "loader"}) {
    EXPECT_FALSE(parse_fault(std::string(kind) + ":rank=0,ms=1").spin) << kind;
  }
  EXPECT_TRUE(parse_fault("loader:rank=0,ms=1,mode=busy").spin) << "another word for spin";
  EXPECT_EQ(parse_fault("loader:rank=all,ms=1").rank, kEveryRank);
  EXPECT_EQ(parse_fault("gc-pause:ms=1").rank, kEveryRank);
  EXPECT_DOUBLE_EQ(parse_fault("gc-pause:ms=1").share, 0.1);
  EXPECT_EQ(parse_fault("checkpoint-stall:ms=1").rank, 0);
  EXPECT_DOUBLE_EQ(parse_fault("leak").mb, 1);
}

TEST(FaultCatalogue, HasARowForEachKindAndUsageThatParses) {
  std::set<FaultKind> kinds;
  for (const FaultRow& row : fault_catalogue()) {
    kinds.insert(row.kind);
    EXPECT_FALSE(row.about.empty()) << row.name;
    EXPECT_EQ(row.needs & row.takes, 0U) << row.name << ": needed or taken, not both";
    EXPECT_THAT(fault_usage(row), ::testing::StartsWith(row.name));
  }
  EXPECT_EQ(kinds.size(), static_cast<size_t>(FaultKind::kKill) + 1);
  EXPECT_EQ(fault_usage(fault_row(FaultKind::kKill)), "kill:rank=R|all,step=S");
  EXPECT_EQ(fault_usage(fault_row(FaultKind::kWrongSize)), "wrong-size:rank=R,step=S");
  EXPECT_EQ(fault_usage(fault_row(FaultKind::kGcPause)),
            "gc-pause:ms=D[,rank=R|all,share=F,from=S,to=S,mode=spin|sleep]");
  EXPECT_EQ(fault_usage(fault_row(FaultKind::kLeak)), "leak:[rank=R|all,from=S,to=S,every=K,mb=X]");
}

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
    ::testing::Values(
        BadFault{"empty", "", "no fault is called ''"},
        BadFault{"unknown_kind", "laoder:rank=1,ms=1", "no fault is called 'laoder'"},
        BadFault{"unknown_key", "loader:rank=1,sec=1", "no key is called 'sec'"},
        BadFault{"no_rank", "loader:ms=1", "rank is needed"},
        BadFault{"no_ms", "loader:rank=1", "ms is needed"},
        BadFault{"no_keys", "loader", "rank, ms are needed"},
        BadFault{"no_step", "hang:rank=1", "step is needed"},
        BadFault{"no_period", "periodic:rank=1,ms=2", "every is needed"},
        BadFault{"no_onset", "onset:rank=1,ms=2", "from is needed"},
        BadFault{"no_share", "skewed-batch:rank=1", "share is needed"},
        BadFault{"no_limit", "slow-link:rank=1", "rate, delay, loss or one of them is needed"},
        BadFault{"contention_ms", "cpu-contention:rank=1,ms=5", "cpu-contention takes no ms"},
        BadFault{"link_ms", "slow-link:rank=1,ms=5", "slow-link takes no ms"},
        BadFault{"rotating_rank", "rotating:rank=1,ms=5", "rotating takes no rank"},
        BadFault{"compute_share", "compute:rank=1,ms=5,share=0.5", "compute takes no share"},
        BadFault{"kill_from", "kill:rank=1,from=5", "kill takes no from"},
        BadFault{"all_wrong", "wrong-size:rank=all,step=5", "the fault of one rank among others"},
        BadFault{"twice", "loader:rank=1,ms=5,ms=6", "ms is given twice"},
        BadFault{"step_and_range", "loader:rank=1,ms=5,step=3,to=6", "step=S is one step"},
        BadFault{"big_share", "transient:rank=1,ms=5,share=2", "share=2 is more than all"},
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

TEST(CheckFaults, RefusesRanksThatTheJobDoesNotHave) {
  const std::vector<Fault> faults = {parse_fault("loader:rank=2,ms=1")};
  EXPECT_NO_THROW(check_faults(faults, 3));
  EXPECT_THROW(check_faults(faults, 2), UsageError);
  EXPECT_THROW(check_faults({parse_fault("wrong-order:rank=0,step=1")}, 1), UsageError)
      << "there is nobody to disagree with";
}

}  // namespace
}  // namespace dprof::trainer_harness
