// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/control/capture.h"

#include <gmock/gmock.h>

#include "base/time.h"

namespace dprof::recorder {
namespace {

using wire::CaptureCause;
using wire::CaptureState;
using wire::DetailLevel;
using RequestKind = CaptureRequest::Kind;

constexpr int64_t kStep = 100'000'000;  // ns

CaptureSettings steps(int64_t begin, std::optional<int64_t> end, DetailLevel detail) {
  CaptureSettings settings;
  settings.detail = detail;
  settings.window = {.kind = Window::Kind::kSteps, .begin = begin, .end = end};
  return settings;
}

// Marked steps: step k lasts from k * kStep to k * kStep + kStep - 10.
void run_step(CapturePlan& plan, int64_t step) {
  const int64_t begin_ns = step * kStep;
  plan.on_step({step, begin_ns, std::nullopt});
  plan.on_time(begin_ns);
  plan.on_step({step, begin_ns, begin_ns + kStep - 10});
  plan.on_time(begin_ns + kStep - 10);
}

TEST(CapturePlanTest, WithoutAWindowEverythingIsKept) {
  CaptureSettings settings;
  settings.detail = DetailLevel::kFull;
  const CapturePlan plan(settings, 5);
  EXPECT_FALSE(plan.gated());
  EXPECT_TRUE(plan.keeps(0));
  EXPECT_EQ(plan.order().state, CaptureState::kRecording);
  EXPECT_EQ(plan.order().detail, DetailLevel::kFull);
  EXPECT_EQ(plan.order().cause, CaptureCause::kStart);
}

TEST(CapturePlanTest, AWindowOfStepsIsExactAndHalfOpen) {
  CapturePlan plan(steps(10, 12, DetailLevel::kFull), 0);
  EXPECT_TRUE(plan.gated());
  EXPECT_EQ(plan.order().detail, DetailLevel::kLight);
  for (int64_t step = 0; step < 15; ++step) run_step(plan, step);
  ASSERT_EQ(plan.spans().size(), 1u);
  EXPECT_FALSE(plan.keeps(10 * kStep - 1));
  EXPECT_TRUE(plan.keeps(10 * kStep));
  EXPECT_TRUE(plan.keeps(11 * kStep - 5));  // between the two steps
  EXPECT_TRUE(plan.keeps(12 * kStep - 11));
  EXPECT_FALSE(plan.keeps(12 * kStep - 10));  // step 11 ends here
  EXPECT_FALSE(plan.keeps(12 * kStep));
}

TEST(CapturePlanTest, TheLevelRisesBeforeTheWindowAndFallsAfterIt) {
  CapturePlan plan(steps(10, 12, DetailLevel::kFull), 0);
  std::vector<DetailLevel> at_begin;
  for (int64_t step = 0; step < 14; ++step) {
    plan.on_step({step, step * kStep, std::nullopt});
    plan.on_time(step * kStep);
    at_begin.push_back(plan.order().detail);
    plan.on_step({step, step * kStep, step * kStep + kStep - 10});
  }
  EXPECT_EQ(at_begin[3], DetailLevel::kLight);
  for (size_t step = 9; step < 12; ++step) EXPECT_EQ(at_begin[step], DetailLevel::kFull) << step;
  EXPECT_EQ(at_begin[12], DetailLevel::kLight);
  // Everything that is open may end; then the process records nothing.
  EXPECT_EQ(plan.order().state, CaptureState::kRecording);
  plan.on_time(12 * kStep + CapturePlan::kLingerNs);
  EXPECT_EQ(plan.order().state, CaptureState::kArmed);
  EXPECT_EQ(plan.order().cause, CaptureCause::kWindow);
}

TEST(CapturePlanTest, OptimizerStepsTouchEachOther) {
  CapturePlan plan(steps(1, 2, DetailLevel::kStandard), 0);
  for (int64_t step = 0; step < 4; ++step) {
    plan.on_step({step, step * kStep, std::nullopt});
    plan.on_step({step, step * kStep, (step + 1) * kStep});
  }
  EXPECT_FALSE(plan.keeps(kStep - 1));
  EXPECT_TRUE(plan.keeps(kStep));
  EXPECT_TRUE(plan.keeps(2 * kStep - 1));
  EXPECT_FALSE(plan.keeps(2 * kStep));
}

TEST(CapturePlanTest, AMarkerMovesTheBeginningThatAnOptimizerGaveTheStep) {
  CapturePlan plan(steps(0, 1, DetailLevel::kStandard), 0);
  plan.on_step({0, 100, std::nullopt});  // an optimizer's end
  plan.on_step({0, 700, std::nullopt});  // a marker
  plan.on_step({0, 700, 900});
  EXPECT_FALSE(plan.keeps(100));
  EXPECT_TRUE(plan.keeps(700));
  EXPECT_FALSE(plan.keeps(900));
}

TEST(CapturePlanTest, EveryRepeatsTheWindow) {
  CaptureSettings settings = steps(2, 3, DetailLevel::kFull);
  settings.window.every = 5;
  CapturePlan plan(settings, 0);
  for (int64_t step = 0; step < 14; ++step) run_step(plan, step);
  EXPECT_EQ(plan.spans().size(), 3u);
  for (int64_t step = 0; step < 14; ++step) {
    EXPECT_EQ(plan.keeps(step * kStep), step % 5 == 2) << step;
  }
  plan.on_time(1000 * kStep);
  EXPECT_EQ(plan.order().state, CaptureState::kRecording) << "another window may come";
}

TEST(CapturePlanTest, WarmUpIsSkippedAndTheRestKept) {
  CapturePlan plan(steps(3, std::nullopt, DetailLevel::kStandard), 0);
  for (int64_t step = 0; step < 6; ++step) run_step(plan, step);
  EXPECT_FALSE(plan.keeps(3 * kStep - 1));
  EXPECT_TRUE(plan.keeps(3 * kStep));
  EXPECT_TRUE(plan.keeps(INT64_MAX));
  EXPECT_EQ(plan.order().detail, DetailLevel::kStandard);
}

TEST(CapturePlanTest, AWindowOfSecondsCountsFromTheFirstRank) {
  CaptureSettings settings;
  settings.window = {.kind = Window::Kind::kSeconds, .begin = 2, .end = 3};
  settings.origin_ns = 500;
  CapturePlan plan(settings, 9'000'000);
  const int64_t begin = 500 + 2 * kNsPerSecond;
  EXPECT_EQ(plan.order().state, CaptureState::kArmed);
  plan.on_time(begin - CapturePlan::kLeadNs);
  EXPECT_EQ(plan.order().state, CaptureState::kRecording);
  EXPECT_FALSE(plan.keeps(begin - 1));
  EXPECT_TRUE(plan.keeps(begin));
  EXPECT_TRUE(plan.keeps(begin + kNsPerSecond - 1));
  EXPECT_FALSE(plan.keeps(begin + kNsPerSecond));
  plan.on_time(begin + kNsPerSecond + CapturePlan::kLingerNs);
  EXPECT_EQ(plan.order().state, CaptureState::kArmed);
}

TEST(CapturePlanTest, ArmedWaitsForARequest) {
  CaptureSettings settings;
  settings.window.kind = Window::Kind::kArmed;
  CapturePlan plan(settings, 0);
  EXPECT_EQ(plan.order().state, CaptureState::kArmed);
  EXPECT_FALSE(plan.keeps(50));
  plan.on_request({RequestKind::kStart}, 100);
  EXPECT_EQ(plan.order().state, CaptureState::kRecording);
  EXPECT_EQ(plan.order().cause, CaptureCause::kRequest);
  plan.on_request({RequestKind::kStop}, 200);
  EXPECT_EQ(plan.order().state, CaptureState::kArmed);
  EXPECT_FALSE(plan.keeps(99));
  EXPECT_TRUE(plan.keeps(150));
  EXPECT_FALSE(plan.keeps(200));
  EXPECT_EQ(plan.spans().at(0).opened, CaptureCause::kRequest);
}

TEST(CapturePlanTest, ARequestEndsTheWindows) {
  CaptureSettings settings;
  settings.window = {.kind = Window::Kind::kSeconds, .begin = 10, .end = 20};
  CapturePlan early(settings, 0);
  early.on_request({RequestKind::kStart}, kNsPerSecond);
  EXPECT_TRUE(early.keeps(5 * kNsPerSecond));
  EXPECT_TRUE(early.keeps(30 * kNsPerSecond));
  CapturePlan within(settings, 0);
  within.on_time(12 * kNsPerSecond);
  within.on_request({RequestKind::kStop}, 12 * kNsPerSecond);
  EXPECT_TRUE(within.keeps(11 * kNsPerSecond));
  EXPECT_FALSE(within.keeps(13 * kNsPerSecond));
  within.on_time(14 * kNsPerSecond);
  EXPECT_EQ(within.order().state, CaptureState::kArmed);
}

TEST(CapturePlanTest, ALateProcessGetsWhatWasAskedFor) {
  CaptureSettings settings = steps(5, 6, DetailLevel::kFull);
  settings.requested = false;
  const CapturePlan stopped(settings, 0);
  EXPECT_EQ(stopped.order().state, CaptureState::kArmed);
  EXPECT_FALSE(stopped.keeps(10));
  settings.requested = true;
  const CapturePlan started(settings, 0);
  EXPECT_EQ(started.order().state, CaptureState::kRecording);
  EXPECT_EQ(started.order().detail, DetailLevel::kFull);
  EXPECT_TRUE(started.keeps(10));
}

TEST(CapturePlanTest, TheLevelCanBeAskedFor) {
  CapturePlan plan(CaptureSettings{}, 0);
  EXPECT_EQ(plan.order().detail, DetailLevel::kStandard);
  plan.on_request({RequestKind::kLevel, DetailLevel::kFull}, 10);
  EXPECT_EQ(plan.order().detail, DetailLevel::kFull);
  EXPECT_EQ(plan.order().cause, CaptureCause::kRequest);
}

TEST(CapturePlanTest, LoweringGoesDownToNothingAndStaysUntilSomebodyAsks) {
  CaptureSettings settings;
  settings.detail = DetailLevel::kFull;
  CapturePlan plan(settings, 0);
  ASSERT_TRUE(plan.lower(CaptureCause::kGovernor, 10));
  EXPECT_EQ(plan.order().detail, DetailLevel::kStandard);
  EXPECT_EQ(plan.order().cause, CaptureCause::kGovernor);
  ASSERT_TRUE(plan.lower(CaptureCause::kLoss, 20));
  EXPECT_EQ(plan.order().detail, DetailLevel::kLight);
  EXPECT_EQ(plan.order().cause, CaptureCause::kLoss);
  ASSERT_TRUE(plan.lower(CaptureCause::kGovernor, 30));
  EXPECT_EQ(plan.order().state, CaptureState::kArmed);
  EXPECT_FALSE(plan.lower(CaptureCause::kGovernor, 40));
  plan.on_time(1000 * kNsPerSecond);
  EXPECT_EQ(plan.order().state, CaptureState::kArmed);
  plan.on_request({RequestKind::kLevel, DetailLevel::kStandard}, 50);
  EXPECT_EQ(plan.order().state, CaptureState::kRecording);
  EXPECT_EQ(plan.order().detail, DetailLevel::kStandard);
}

TEST(CaptureTest, WindowsAreNamed) {
  using Kind = Window::Kind;
  EXPECT_EQ(window_text({.kind = Kind::kSteps, .begin = 10, .end = 20, .every = 100}),
            "steps 10:20 every 100");
  EXPECT_EQ(window_text({.kind = Kind::kSteps, .begin = 3}), "steps 3:");
  EXPECT_EQ(window_text({.kind = Kind::kSeconds, .begin = 5, .end = 7}), "seconds 5:7");
  EXPECT_EQ(window_text({.kind = Kind::kArmed}), "armed");
  EXPECT_EQ(window_text({}), "");
}

}  // namespace
}  // namespace dprof::recorder
