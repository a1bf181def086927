// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/replay/critical_path.h"
#include "analyzer/replay/held_out.h"
#include "analyzer/replay/test_support/job.h"

namespace dprof::analyzer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kMsOfJob = 1'000'000;
constexpr size_t kStepsOfJob = 14;

// Three ranks that meet once per step; rank 1 works longest, in every third step rank 2.
Job uneven_job() {
  Job job(3);
  job.group({0, 1, 2});
  for (size_t s = 0; s < kStepsOfJob; ++s) {
    job.step_begins();
    job.everybody_works(20 * kMsOfJob);
    job.work(1, 6 * kMsOfJob);
    if (s % 3 == 0) job.work(2, 9 * kMsOfJob);
    job.meet(0, 4 * kMsOfJob);
  }
  return job;
}

WhatIf predicted(const WhatIfModel& model, const std::vector<std::string>& texts) {
  std::vector<Change> changes;
  for (const std::string& text : texts) {
    const Result<Change> change = parse_change(text);
    EXPECT_TRUE(change.ok()) << text;
    if (change.ok()) changes.push_back(*change);
  }
  const Result<WhatIf> what = model.answer(changes);
  EXPECT_TRUE(what.ok());
  return what.ok() ? *what : WhatIf();
}

TEST(WhatIfTest, TransfersTakeTheirShare) {
  const WhatIfModel model = uneven_job().model();
  EXPECT_EQ(predicted(model, {"transfer=0"}).gain_ns, 4 * kMsOfJob);
  EXPECT_EQ(predicted(model, {"transfer*0.5"}).gain_ns, 2 * kMsOfJob);
  EXPECT_EQ(predicted(model, {"bandwidth*4"}).gain_ns, 3 * kMsOfJob);
  EXPECT_EQ(predicted(model, {"transfer*1"}).gain_ns, 0);
  EXPECT_EQ(predicted(model, {"transfer*2"}).gain_ns, -4 * kMsOfJob);
}

// Both are late by turns, with equally many long steps.
TEST(WhatIfTest, WithoutStragglersRanksThatAreLateByTurnsAreNoLongerLate) {
  Job job(2);
  job.group({0, 1});
  for (size_t s = 0; s < kStepsOfJob; ++s) {
    job.step_begins();
    job.everybody_works(30 * kMsOfJob);
    job.work(static_cast<int>(s % 2), 20 * kMsOfJob);
    job.meet(0, kMsOfJob);
  }
  EXPECT_EQ(predicted(job.model(), {"stragglers=none"}).gain_ns, 20 * kMsOfJob);
}

// The median of the three is one of the two late ones.
TEST(WhatIfTest, WithoutStragglersTwoLateOnesOfThreeAreNoMeasure) {
  Job job(3);
  job.group({0, 1, 2});
  for (size_t s = 0; s < kStepsOfJob; ++s) {
    job.step_begins();
    job.everybody_works(30 * kMsOfJob);
    job.work(0, 20 * kMsOfJob);
    job.work(1, 8 * kMsOfJob);
    job.meet(0, kMsOfJob);
  }
  EXPECT_EQ(predicted(job.model(), {"stragglers=none"}).gain_ns, 20 * kMsOfJob);
}

// With one size they could be latency as well as bandwidth: the bound covers both.
TEST(WhatIfTest, WhatIsUndecidedIsWithinTheBound) {
  const WhatIfModel model = uneven_job().model();
  EXPECT_GE(predicted(model, {"bandwidth*4"}).bound_ns, 3 * kMsOfJob);
  EXPECT_LT(predicted(model, {"transfer*0.25"}).bound_ns, kMsOfJob);
}

// No gain is predicted, but no model is exact.
TEST(WhatIfTest, TheBoundHasAFloor) {
  const WhatIfModel model = uneven_job().model();
  EXPECT_GE(predicted(model, {"transfer*1"}).bound_ns, model.mean_step_ns() * 3 / 1000);
}

TEST(WhatIfTest, WhoIsNotLastGainsNothing) {
  const WhatIfModel model = uneven_job().model();
  EXPECT_EQ(predicted(model, {"rank:0*0.5"}).gain_ns, 0);
  EXPECT_EQ(predicted(model, {"rank:0=peers"}).gain_ns.value_or(-1) <= 0, true);
}

// Both changes give one answer: 20 ms of work remain, all of it in the phase.
TEST(WhatIfTest, ChangesTogetherAreOneAnswer) {
  const WhatIfModel model = uneven_job().model();
  const WhatIf one = predicted(model, {"phase:forward*0.5"});
  const WhatIf both = predicted(model, {"phase:forward*0.5", "transfer=0"});
  EXPECT_EQ(both.change, "phase:forward*0.5 + transfer=0");
  EXPECT_EQ(both.gain_ns, *one.gain_ns + 4 * kMsOfJob);
  EXPECT_EQ(*both.step_ns + *both.gain_ns, model.mean_step_ns());
}

TEST(WhatIfTest, WhatTheRecordingCannotAnswerHasAReasonAndNoFigures) {
  const WhatIfModel model = uneven_job().model();
  for (const char* text :
       {"sync=none", "launch=graphs", "latency=0", "bucket_cap=25MB", "accumulate=4",
        "overlap=full", "checkpoint=0", "gc=together", "input=0", "kernel:x*0.5"}) {
    const WhatIf what = predicted(model, {text});
    EXPECT_FALSE(what.gain_ns || what.step_ns || what.bound_ns) << text;
    EXPECT_THAT(what.refused, HasSubstr(text));
  }
}

// Names of kernels are long: a part of one means all that have it, unless it is one's whole name.
TEST(WhatIfTest, APartOfAKernelsNameMeansAllThatHaveIt) {
  Job job = uneven_job();
  job.with_kernels({{"gemm_64x64<bf16>", 0.4}, {"gemm_128x64<bf16>", 0.2}, {"add", 0.1}});
  const WhatIfModel model = job.model();
  const auto gain = [&](const char* text) {
    return static_cast<double>(*predicted(model, {text}).gain_ns);
  };
  const double all = gain("phase:forward*0");  // the slowest rank's work
  EXPECT_NEAR(gain("kernel:gemm*0"), 0.6 * all, 1e4);
  EXPECT_NEAR(gain("kernel:gemm_64x64<bf16>*0"), 0.4 * all, 1e4);
  EXPECT_THAT(predicted(model, {"kernel:gemm*0"}).valid_because,
              HasSubstr("with 'gemm' in the name: 2"));
  EXPECT_THAT(predicted(model, {"kernel:add*0"}).valid_because, Not(HasSubstr("in the name")));
  const Result<Change> change = parse_change("kernel:sort*0.5");
  const Result<WhatIf> what = model.answer(std::span(&*change, 1));
  ASSERT_FALSE(what.ok());
  EXPECT_THAT(what.error().hint, HasSubstr("gemm_64x64<bf16>, gemm_128x64<bf16>, add"));
}

TEST(WhatIfTest, UnknownNamesListWhatThereIs) {
  const WhatIfModel model = uneven_job().model();
  const auto error = [&](const char* text) {
    const Result<Change> change = parse_change(text);
    const Result<WhatIf> what = model.answer(std::span(&*change, 1));
    EXPECT_FALSE(what.ok()) << text;
    return what.ok() ? Error() : what.error();
  };
  EXPECT_THAT(error("rank:7=peers").hint, HasSubstr("0, 1, 2"));
  EXPECT_THAT(error("phase:sideways*0.5").hint, HasSubstr("forward"));
  EXPECT_THAT(error("host:nowhere=peers").what, HasSubstr("nowhere"));
}

TEST(WhatIfTest, ARefusedReplayAnswersNothing) {
  const WhatIf what = predicted(uneven_job().model(false), {"transfer=0"});
  EXPECT_FALSE(what.gain_ns);
  EXPECT_THAT(what.refused, HasSubstr("refused"));
}

TEST(WhatIfTest, TheBestOfTheCatalogueComeFirstAndGainSomething) {
  const WhatIfModel model = uneven_job().model();
  const std::vector<WhatIf> best = model.best(3);
  ASSERT_FALSE(best.empty());
  EXPECT_LE(best.size(), 3U);
  for (size_t i = 0; i < best.size(); ++i) {
    EXPECT_GT(*best[i].gain_ns, 0) << best[i].change;
    EXPECT_FALSE(best[i].asked);
    if (i > 0) {
      EXPECT_LE(*best[i].gain_ns, *best[i - 1].gain_ns);
    }
  }
}

TEST(CriticalPathTest, GoesThroughTheRankThatIsLastAndItsTransfer) {
  const WhatIfModel model = uneven_job().model();
  const CriticalPath path = critical_path_of(model);
  ASSERT_EQ(path.per_step.size(), model.run().steps.size());
  const auto of = [](const std::vector<OnPath>& list, std::string_view name) {
    const auto one = std::ranges::find(list, name, &OnPath::name);
    return one == list.end() ? OnPath() : *one;
  };
  // Steps 2 to 13: rank 2 is last in 3, 6, 9 and 12.
  EXPECT_NEAR(of(path.by_rank, "rank 1").criticality, 8.0 / 12, 1e-9);
  EXPECT_NEAR(of(path.by_rank, "rank 2").criticality, 4.0 / 12, 1e-9);
  // All end at once, and the first of them represents them: only the transfer.
  EXPECT_EQ(of(path.by_rank, "rank 0").ns, 4 * kMsOfJob);
  EXPECT_EQ(of(path.by_category, "exposed_transfer").ns, 4 * kMsOfJob);
  EXPECT_NEAR(of(path.by_category, "exposed_transfer").criticality, 1, 1e-9);
  EXPECT_EQ(of(path.by_category, "exposed_transfer").gain_ns, 4 * kMsOfJob / 10);
  EXPECT_EQ(of(path.by_category, "forward").ns, (8 * 26 + 4 * 29) * kMsOfJob / 12);
  double shares = 0;
  for (const OnPath& one : path.by_category) shares += one.share;
  EXPECT_NEAR(shares, 1, 1e-6);
  // Rank 0 works 20 ms, where the last one works 26 or 29.
  const auto slack = std::ranges::find(path.slack, 0, &PathSlack::rank);
  ASSERT_NE(slack, path.slack.end());
  EXPECT_EQ(slack->ns, (8 * 6 + 4 * 9) * kMsOfJob / 12);
}

TEST(CriticalPathTest, GoesOnAtTheRankThatWasWaitedFor) {
  Job job(2);
  job.group({0, 1});
  for (size_t s = 0; s < kStepsOfJob; ++s) {
    job.step_begins();
    job.work(0, 10 * kMsOfJob);
    job.work(1, 4 * kMsOfJob);
    job.meet(0, kMsOfJob);
    job.work(0, 2 * kMsOfJob);
    job.work(1, 7 * kMsOfJob);
    job.meet(0, kMsOfJob);
  }
  const WhatIfModel model = job.model();
  const PathFinder finder(model);
  const PathOfStep path = finder.path(3);
  // Rank 1 had waited for rank 0; then rank 0, which represents both at the end, for rank 1.
  ASSERT_EQ(path.hops.size(), 2U);
  EXPECT_EQ(path.hops[0].from, 0U);
  EXPECT_EQ(path.hops[0].to, 1U);
  EXPECT_EQ(path.hops[1].from, 1U);
  int64_t length = 0;
  for (const PathPiece& piece : path.pieces) length += piece.end_ns - piece.begin_ns;
  EXPECT_EQ(length, model.unchanged()[3]);
}

TEST(HeldOutTest, ARunThatGoesOnAsItBeganIsPredicted) {
  Job job = uneven_job();
  const WhatIfModel model = job.model();
  const HeldOut check = held_out_of(model.run());
  ASSERT_TRUE(check.error);
  EXPECT_LT(*check.error, 0.05);
  EXPECT_FALSE(check.half_error);
}

// Even steps do something that odd ones never do: it could not be predicted.
TEST(HeldOutTest, WhatOnlyTheUnseenStepsHaveIsMissed) {
  Job job(2);
  job.group({0, 1});
  for (size_t s = 0; s < kStepsOfJob; ++s) {
    job.step_begins();
    job.everybody_works((s % 2 == 0 ? 20 : 30) * kMsOfJob);
    job.meet(0, kMsOfJob);
  }
  const HeldOut check = held_out_of(job.model().run());
  ASSERT_TRUE(check.error);
  EXPECT_GT(*check.error, 0.25);
}

// The load doubles in the middle: either own work explains it, or unpredictable transfers do.
TEST(HeldOutTest, AChangeOfTheLoadIsPredictedFromOwnWorkAndNotFromTransfers) {
  for (const bool by_transfers : {false, true}) {
    Job job(2);
    job.group({0, 1});
    for (size_t s = 0; s < kStepsOfJob; ++s) {
      const bool late = s >= 8;
      job.step_begins();
      job.everybody_works((late && !by_transfers ? 20 : 10) * kMsOfJob);
      job.meet(0, (late && by_transfers ? 12 : 2) * kMsOfJob);
    }
    const HeldOut check = held_out_of(job.model().run());
    ASSERT_TRUE(check.half_error);
    if (by_transfers) {
      EXPECT_GT(*check.half_error, 0.3);
    } else {
      EXPECT_LT(*check.half_error, 0.001);
    }
  }
}

}  // namespace
}  // namespace dprof::analyzer
