// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/rules/test_support/comm_run.h"

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> found_hygiene(const RuleRun& run, std::string_view name) {
  return run.of(hygiene_rules(), name);
}

TEST(ClockUncertain, AgainstTheLateness) {
  CommRun run(2);
  run.collective({.wait_ns = kNsPerMs});
  run.report.clock.emplace();
  HostClock host;
  host.host = "a";
  host.bound_ns = 0;
  host.method = "probes";
  run.report.clock->hosts = {host};
  EXPECT_THAT(found_hygiene(run, "hygiene.clock-uncertain"), IsEmpty()) << "one host";
  host.host = "b";
  host.bound_ns = 50'000;
  run.report.clock->hosts.push_back(host);
  EXPECT_THAT(found_hygiene(run, "hygiene.clock-uncertain"), IsEmpty()) << "5 %";
  run.report.clock->hosts[1].bound_ns = 300'000;
  ASSERT_THAT(found_hygiene(run, "hygiene.clock-uncertain"), SizeIs(1));
  EXPECT_THAT(found_hygiene(run, "hygiene.clock-uncertain")[0].title, HasSubstr("the clock of b"));
  run.report.clock->hosts[1].bound_ns.reset();
  EXPECT_THAT(found_hygiene(run, "hygiene.clock-uncertain")[0].title, HasSubstr("no bound"));
}

TEST(ProfilerOverhead, AboveThreePercent) {
  RuleRun run(2);
  run.report.recording.overhead.emplace();
  run.report.recording.overhead->how = "counted";
  EXPECT_THAT(found_hygiene(run, "hygiene.profiler-overhead"), IsEmpty()) << "not measured";
  run.report.recording.overhead->share = 0.02;
  EXPECT_THAT(found_hygiene(run, "hygiene.profiler-overhead"), IsEmpty());
  run.report.recording.overhead->share = 0.05;
  ASSERT_THAT(found_hygiene(run, "hygiene.profiler-overhead"), SizeIs(1));
  EXPECT_EQ(found_hygiene(run, "hygiene.profiler-overhead")[0].cost_ns, 5 * kNsPerMs);
}

TEST(ReplayRefused, SaysBySoMuch) {
  RuleRun run(2);
  EXPECT_THAT(found_hygiene(run, "hygiene.replay-refused"), IsEmpty()) << "nothing was replayed";
  run.report.replay.emplace();
  run.report.replay->identity_error = 0.08;
  ASSERT_THAT(found_hygiene(run, "hygiene.replay-refused"), SizeIs(1));
  EXPECT_THAT(found_hygiene(run, "hygiene.replay-refused")[0].title, HasSubstr("8.0 %"));
  run.report.replay->accepted = true;
  EXPECT_THAT(found_hygiene(run, "hygiene.replay-refused"), IsEmpty());
}

TEST(FewSteps, FewerThanFive) {
  RuleRun run(2);
  EXPECT_THAT(found_hygiene(run, "hygiene.few-steps"), IsEmpty());
  run.report.run.steps->steady = 4;
  EXPECT_THAT(found_hygiene(run, "hygiene.few-steps"), SizeIs(1));
  run.report.run.steps.reset();
  EXPECT_THAT(found_hygiene(run, "hygiene.few-steps"), IsEmpty()) << "a diagnostic says that";
}

TEST(MixedDevices, TheOddOnesAreNamed) {
  RuleRun run(3);
  for (int r = 0; r < 3; ++r) {
    DeviceFact device;
    device.model = r == 2 ? "A100" : "H100";
    device.kernels = 5;
    run.facts(r).devices = {device};
  }
  const std::vector<Finding> findings = found_hygiene(run, "hygiene.mixed-devices");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].ranks, ElementsAre(2));
  run.facts(2).devices[0].kernels = 0;
  EXPECT_THAT(found_hygiene(run, "hygiene.mixed-devices"), IsEmpty()) << "it is not used";
}

TEST(LostRecords, CountsOfImportersAreNone) {
  RuleRun run(2);
  run.report.recording.lost = {{.rank = 1, .reason = schema::LossReason::kSkippedRow, .count = 10}};
  EXPECT_THAT(found_hygiene(run, "hygiene.lost-records"), IsEmpty());
}

}  // namespace
}  // namespace dprof::analyzer
