// SPDX-License-Identifier: Apache-2.0
#include "analyzer/check/check.h"

#include <gmock/gmock.h>

#include <random>

#include "analyzer/check/test_support/made_run.h"

namespace dprof::analyzer {
namespace {

using ::testing::HasSubstr;

const Day kToday = std::chrono::year(2026) / 11 / 25;

CheckResult checked(const RunFacts& run, std::vector<RunFacts> baselines = {},
                    const CheckSettings& settings = {}, bool history = false) {
  return check(
      {.runs = std::span(&run, 1), .baselines = baselines, .is_history = history, .today = kToday},
      settings);
}

const CheckCase* find(const CheckResult& result, std::string_view name) {
  const auto found = std::ranges::find(result.cases, name, &CheckCase::name);
  return found == result.cases.end() ? nullptr : &*found;
}

TEST(Check, AnEqualRunIsGood) {
  const CheckResult result = checked(made_run(2), {made_run(1)});
  EXPECT_EQ(result.code(), ExitCode::kGood) << result.title;
  EXPECT_THAT(result.sensitivity, HasSubstr("would have been detected"));
}

TEST(Check, ASlowerRunIsSuspectWithOneRunASide) {
  const CheckResult result = checked(made_run(2, 1.08), {made_run(1)});
  EXPECT_EQ(result.code(), ExitCode::kCheckFailed);
  EXPECT_THAT(result.title, HasSubstr("suspect: step time +7.8 %"));
  EXPECT_THAT(result.title, HasSubstr("most of it is forward: +8.0 of +8.0 ms"));
  EXPECT_THAT(find(result, "step_time")->advice, HasSubstr("repeat"));
}

// A shared machine: the steps are longer, and the ranks had no core meanwhile.
TEST(Check, WhatAMachineTookIsNoVerdictOnOneRun) {
  RunFacts run = made_run(2, 1.08);
  RunFacts base = made_run(1);
  base.waited_for_core_ns = 1e6;
  run.waited_for_core_ns = 6e6;  // 5 of the 8 ms
  const CheckResult busy = checked(run, {base});
  EXPECT_EQ(busy.code(), ExitCode::kInconclusive) << busy.title;
  EXPECT_THAT(busy.title, HasSubstr("5 ms of it the ranks were ready to run but had no core"));
  EXPECT_THAT(busy.needed, HasSubstr("a quieter machine"));
  run.waited_for_core_ns = 3e6;
  EXPECT_EQ(checked(run, {base}).code(), ExitCode::kCheckFailed);
  base.waited_for_core_ns = 30e6;
  EXPECT_EQ(checked(run, {base}).code(), ExitCode::kInconclusive);
  EXPECT_THAT(checked(run, {base}).title, HasSubstr("the machine was busy: for 30 % of a step"));
  run.waited_for_core_ns.reset();
  EXPECT_EQ(checked(run, {base}).code(), ExitCode::kCheckFailed) << "nothing is known about it";
}

TEST(Check, SeveralBaselinesTellHowRunsDiffer) {
  std::vector<RunFacts> even;
  std::vector<RunFacts> uneven;
  for (uint64_t i = 0; i < 6; ++i) {
    even.push_back(made_run(10 + i, 1 + 0.001 * static_cast<double>(i % 2)));
    uneven.push_back(made_run(10 + i, 1 + 0.03 * static_cast<double>(i % 3)));
  }
  const RunFacts run = made_run(2, 1.08);
  EXPECT_EQ(checked(run, even).code(), ExitCode::kCheckFailed);
  EXPECT_THAT(checked(run, even).title, Not(HasSubstr("suspect")));
  const CheckResult result = checked(run, uneven);
  EXPECT_EQ(result.code(), ExitCode::kInconclusive) << result.title;
  EXPECT_THAT(result.needed, HasSubstr("runs per side"));
}

TEST(Check, WhatWasAllowedIsKeptTo) {
  const RunFacts run = made_run(2, 1.08);
  const auto code = [&](double max_slowdown) {
    CheckSettings settings;
    settings.max_slowdown = max_slowdown;
    return checked(run, {made_run(1)}, settings).code();
  };
  EXPECT_EQ(code(0.2), ExitCode::kGood);
  EXPECT_EQ(code(0.03), ExitCode::kCheckFailed);
  EXPECT_EQ(code(0.08), ExitCode::kInconclusive);
}

TEST(Check, NoiseAboveWhatIsAskedCannotTell) {
  const CheckResult result = checked(made_run(2, 1, 0.2), {made_run(1, 1, 0.2)});
  EXPECT_EQ(result.code(), ExitCode::kInconclusive) << result.title;
  EXPECT_THAT(result.title, HasSubstr("the noise hides anything below"));
  EXPECT_EQ(result.needed, "about 19 runs per side");
  EXPECT_THAT(checked(made_run(2, 1, 0.8), {made_run(1, 1, 0.8)}).needed,
              HasSubstr("a quieter machine"));
  EXPECT_EQ(checked(made_run(2, 0.4, 0.2), {made_run(1, 1, 0.2)}).code(), ExitCode::kGood)
      << "whatever the noise hides, it is faster";
}

// Runs of a noisy machine differ by more than the steps of one let expect.
TEST(Check, OnANoisyMachineOneRunPerSideDoesNotFail) {
  constexpr double kNoise = 0.1;
  CheckSettings settings;
  settings.max_slowdown = 0.05;
  const CheckResult pair = checked(made_run(2, 1.25, kNoise), {made_run(1, 1, kNoise)}, settings);
  EXPECT_EQ(pair.code(), ExitCode::kInconclusive) << pair.title;
  EXPECT_THAT(pair.title, HasSubstr("two equal runs can differ as much"));
  EXPECT_THAT(pair.needed, HasSubstr("three runs of each side"));
  std::vector<RunFacts> before;
  for (uint64_t i = 0; i < 5; ++i) before.push_back(made_run(10 + i, 1, kNoise));
  EXPECT_EQ(checked(made_run(2, 1.25, kNoise), before, settings).code(), ExitCode::kCheckFailed);
}

TEST(Check, TooFewStepsCannotTell) {
  RunFacts run = made_run(2);
  run.lengths_ns.resize(5);
  const CheckResult result = checked(run, {made_run(1)});
  EXPECT_EQ(result.code(), ExitCode::kInconclusive);
  EXPECT_THAT(result.title, HasSubstr("5 steady steps; at least 10 are needed"));
  EXPECT_THAT(result.needed, HasSubstr("at least 50 steps"));
}

// Issue 25: a baseline of other hardware, half a run, an empty history.
TEST(Check, WhatIsNotComparableCannotTell) {
  const RunFacts run = made_run(2);
  RunFacts other = made_run(1);
  other.environment["cpu_model"] = "another";
  const CheckResult hardware = checked(run, {other});
  EXPECT_EQ(hardware.code(), ExitCode::kInconclusive);
  EXPECT_THAT(hardware.title, HasSubstr("processor (another → one)"));
  RunFacts half = made_run(1);
  half.ranks = 1;
  EXPECT_EQ(checked(run, {half}).code(), ExitCode::kInconclusive);
  EXPECT_THAT(checked(run, {half}).title, HasSubstr("1 of 2 left a trace"));
  const CheckResult empty = checked(run, {}, {}, true);
  EXPECT_EQ(empty.code(), ExitCode::kInconclusive);
  EXPECT_THAT(empty.title, HasSubstr("no baseline yet"));
}

TEST(Check, OfAHistoryOtherHardwareIsLeftOut) {
  std::vector<RunFacts> history = {made_run(1), made_run(3)};
  history[0].environment["cpu_model"] = "another";
  const CheckResult result = checked(made_run(2), history, {}, true);
  EXPECT_EQ(result.code(), ExitCode::kGood) << result.title;
  ASSERT_EQ(result.remarks.size(), 1U);
  EXPECT_EQ(result.remarks[0], "1 of 2 baselines left out: other processor");
}

TEST(Check, AFailedRunFailsWithItsVerdict) {
  RunFacts run = made_run(2);
  run.ended = "crash";
  run.ended_title = "rank 1 was killed by SIGSEGV in backward";
  const CheckResult result = checked(run);
  EXPECT_EQ(result.code(), ExitCode::kCheckFailed);
  EXPECT_EQ(result.title, "rank 1 was killed by SIGSEGV in backward");
}

TEST(Check, FindingsFailFromTheirSeverityOnUnlessTheBaselinesHaveThem) {
  RunFacts run = made_run(2);
  run.findings = {{.rule = "balance.straggler",
                   .severity = FindingSeverity::kCritical,
                   .title = "rank 1 holds everyone up",
                   .cause = "dataloader"},
                  {.rule = "comm.links", .severity = FindingSeverity::kWarn, .title = "slow"}};
  EXPECT_EQ(checked(run).code(), ExitCode::kCheckFailed);
  EXPECT_EQ(checked(run).title, "rank 1 holds everyone up");
  RunFacts base = made_run(1);
  base.findings = run.findings;
  EXPECT_EQ(checked(run, {base}).code(), ExitCode::kGood);
  base.findings[0].cause = "compute";
  EXPECT_EQ(checked(run, {base}).code(), ExitCode::kCheckFailed) << "another cause is another one";
  CheckSettings settings;
  settings.rules["balance.straggler"].severity = FindingSeverity::kWarn;
  EXPECT_EQ(checked(run, {}, settings).code(), ExitCode::kGood);
  settings.fail_on = FindingSeverity::kWarn;
  EXPECT_EQ(checked(run, {}, settings).code(), ExitCode::kCheckFailed);
  settings.rules["balance.straggler"].enabled = false;
  settings.rules["comm.links"].enabled = false;
  EXPECT_EQ(checked(run, {}, settings).code(), ExitCode::kGood);
}

TEST(Check, AFindingThatCostsTimeFailsOnlyWhereStepsAreLonger) {
  const auto with_finding = [](double factor) {
    RunFacts run = made_run(2, factor);
    run.findings = {{.rule = "comm.exposed-transfer",
                     .severity = FindingSeverity::kCritical,
                     .title = "exposed communication",
                     .cost_ns = 10'000'000}};
    return run;
  };
  const CheckResult equal = checked(with_finding(1), {made_run(1)});
  EXPECT_EQ(equal.code(), ExitCode::kGood) << equal.title;
  EXPECT_THAT(find(equal, "comm.exposed-transfer")->says, HasSubstr("not measurably longer"));
  const CheckResult slower = checked(with_finding(1.08), {made_run(1)});
  EXPECT_EQ(find(slower, "comm.exposed-transfer")->outcome, Outcome::kFailed);
  EXPECT_EQ(checked(with_finding(1)).code(), ExitCode::kCheckFailed) << "without a baseline";
  CheckSettings asked;
  asked.rules["comm.exposed-transfer"].severity = FindingSeverity::kCritical;
  EXPECT_EQ(checked(with_finding(1), {made_run(1)}, asked).code(), ExitCode::kCheckFailed);
}

TEST(Check, WaiversCountUntilTheyExpire) {
  RunFacts run = made_run(2);
  run.findings = {{.rule = "balance.straggler",
                   .severity = FindingSeverity::kCritical,
                   .title = "rank 1 holds everyone up"}};
  CheckSettings settings;
  settings.waivers.push_back({"balance.straggler", "its disk is replaced", kToday});
  const CheckResult waived = checked(run, {}, settings);
  EXPECT_EQ(waived.code(), ExitCode::kGood);
  EXPECT_THAT(find(waived, "balance.straggler")->says,
              HasSubstr("waived until 2026-11-25: its disk is replaced"));
  settings.waivers[0].expires = kToday - std::chrono::days(1);
  const CheckResult expired = checked(run, {}, settings);
  EXPECT_EQ(expired.code(), ExitCode::kCheckFailed);
  EXPECT_THAT(expired.title, HasSubstr("its waiver expired on 2026-11-24"));
  const CheckResult unused = checked(made_run(1), {}, settings);
  EXPECT_EQ(unused.code(), ExitCode::kGood);
  EXPECT_THAT(unused.remarks.at(0), HasSubstr("expired on 2026-11-24 and can go"));
}

TEST(Check, Budgets) {
  RunFacts run = made_run(2);
  run.peak_allocated = 2'000'000'000;
  run.lost = 3;
  run.exposed_share = 0.2;
  run.stragglers = {{{1, "persistent", "dataloader", 5'000'000}}};
  run.phases = {{"forward", 1, 21e6}};
  const auto outcome = [&](const Budgets& budgets, const char* name) {
    CheckSettings settings;
    settings.budgets = budgets;
    const CheckResult result = checked(run, {}, settings);
    const CheckCase* one = find(result, name);
    return one == nullptr ? "" : std::string(word_of(one->outcome));
  };
  EXPECT_EQ(outcome({.step_ms = 120}, "budget.step_ms"), "passed");
  EXPECT_EQ(outcome({.step_ms = 100}, "budget.step_ms"), "undecided");
  EXPECT_EQ(outcome({.step_ms = 80}, "budget.step_ms"), "failed");
  EXPECT_EQ(outcome({.exposed_communication_share = 0.2}, "budget.exposed_communication_share"),
            "passed");
  EXPECT_EQ(outcome({.exposed_communication_share = 0.1}, "budget.exposed_communication_share"),
            "failed");
  EXPECT_EQ(outcome({.input_wait_share = 0.1}, "budget.input_wait_share"), "undecided");
  EXPECT_EQ(outcome({.peak_memory = 1'000'000'000}, "budget.peak_memory"), "failed");
  EXPECT_EQ(outcome({.lost_records = 0}, "budget.lost_records"), "failed");
  EXPECT_EQ(outcome({.lost_records = 3}, "budget.lost_records"), "passed");
  EXPECT_EQ(outcome({.no_stragglers = true}, "budget.stragglers"), "failed");
  EXPECT_EQ(outcome({.phases = {{"forward", {.ms = 20}}}}, "phase.forward"), "failed");
  EXPECT_EQ(outcome({.phases = {{"forward", {}}}}, "phase.forward"), "") << "a metric, no budget";
  EXPECT_EQ(outcome({.phases = {{"backward", {.ms = 20}}}}, "phase.backward"), "undecided");
}

TEST(Check, RangesByName) {
  RunFacts run = made_run(2);
  run.phases = {{"forward", 1, 21e6}};
  run.names = Names{{0}, {{"load_batch", false, 4, 9'000'000, 5'000'000}}, 0};
  const auto found = [&](const char* name, const NamedBudget& budget) {
    CheckSettings settings;
    settings.budgets.ranges[name] = budget;
    const CheckResult result = checked(run, {}, settings);
    const CheckCase* one = find(result, std::string("range.") + name);
    return one == nullptr ? CheckCase{} : *one;
  };
  EXPECT_EQ(found("load_batch", {.ms = 9, .own_ms = 5, .calls = 4}).outcome, Outcome::kPassed);
  EXPECT_EQ(found("load_batch", {.ms = 9, .own_ms = 4.9, .calls = 4}).outcome, Outcome::kFailed);
  EXPECT_EQ(found("load_batch", {.ms = 9, .own_ms = 4.9, .calls = 4}).says,
            "load_batch: 5 ms of its own per step, the budget is 4.9 ms");
  EXPECT_THAT(found("load_batch", {.calls = 3}).says,
              HasSubstr("called 4× per step, 3× is allowed"));
  EXPECT_EQ(found("load_bacth", {.ms = 9}).outcome, Outcome::kUndecided);
  EXPECT_EQ(found("load_bacth", {.ms = 9}).says,
            "the run has no range 'load_bacth'; did you mean 'load_batch'?");
  run.names->left_out = 3;
  EXPECT_THAT(found("other", {.ms = 9}).says, HasSubstr("not among the 300 names"));
  run.names.reset();
  EXPECT_THAT(found("other", {.ms = 9}).says, HasSubstr("no events by name"));
}

TEST(Check, PhasesAndRangesThatTheFileNamesAreMetrics) {
  RunFacts run = made_run(2);
  run.phases = {{"forward", 1, 21e6}, {"backward", 1, 40e6}};
  run.names = Names{{0}, {{"load_batch", false, 4, 9'000'000, 5'000'000}}, 0};
  CheckSettings settings;
  settings.budgets.phases = {{"forward", {}}, {"missing", {}}};
  settings.budgets.ranges = {{"load_batch", {}}};
  const CheckResult result = checked(run, {}, settings);
  EXPECT_EQ(result.code(), ExitCode::kGood) << result.title;
  const auto count =
      std::ranges::count_if(result.metrics, [](const CheckMetric& one) { return !one.of.empty(); });
  EXPECT_EQ(count, 2);
  ASSERT_EQ(result.remarks.size(), 1U);
  EXPECT_EQ(result.remarks[0], "the run has no marked phase 'missing'");
  const auto phase = std::ranges::find(result.metrics, "phase_seconds", &CheckMetric::name);
  ASSERT_NE(phase, result.metrics.end());
  EXPECT_EQ(phase->of, "forward");
  EXPECT_DOUBLE_EQ(phase->value, 0.021);
}

}  // namespace
}  // namespace dprof::analyzer
