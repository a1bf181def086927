// SPDX-License-Identifier: Apache-2.0
#include "analyzer/stragglers/cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dprof::analyzer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kCauseMs = 1'000'000;

KindNs kinds(int64_t input, int64_t forward, int64_t backward, int64_t optimizer, int64_t other) {
  KindNs result{};
  result[index_of(OwnKind::kInput)] = input * kCauseMs;
  result[index_of(OwnKind::kForward)] = forward * kCauseMs;
  result[index_of(OwnKind::kBackward)] = backward * kCauseMs;
  result[index_of(OwnKind::kOptimizer)] = optimizer * kCauseMs;
  result[index_of(OwnKind::kUnattributed)] = other * kCauseMs;
  return result;
}

const KindNs kPeer = kinds(10, 100, 200, 30, 20);

// Rank 1 of three, in each step.
struct Case {
  OwnWork work;
  Roles roles = same_roles(3);
  std::vector<Machine> machines = std::vector<Machine>(3);
  Suspect suspect;
  bool phases_marked = true;
  bool rank0 = false;
  bool collections_recorded = false;

  explicit Case(const KindNs& culprit, Shape shape = Shape::kPersistent) {
    for (size_t s = 0; s < 10; ++s) work.steps.push_back(s);
    for (const KindNs& of_rank : {kPeer, culprit, kPeer}) {
      int64_t own = 0;
      for (const int64_t ns : of_rank) own += ns;
      work.kind_ns.emplace_back(10, of_rank);
      work.own_ns.emplace_back(10, own);
    }
    suspect = {.rank = 1, .shape = shape, .when = work.steps, .excess_ns = {}};
  }
  [[nodiscard]] Cause cause() const {
    return cause_of({work, roles, machines, phases_marked, rank0, collections_recorded}, suspect);
  }
};

struct KindCase {
  const char* name;
  KindNs culprit;
  const char* word;
  const char* kind;
};

class CauseTest : public ::testing::TestWithParam<KindCase> {};

TEST_P(CauseTest, DominantKindGivesTheCause) {
  const Cause cause = Case(GetParam().culprit).cause();
  EXPECT_EQ(cause.word, GetParam().word);
  EXPECT_EQ(cause.kind, GetParam().kind);
  EXPECT_EQ(cause.reasons.empty(), cause.word == std::string("unknown"));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, CauseTest,
    ::testing::Values(
        KindCase{"loader", kinds(90, 100, 200, 30, 20), "dataloader", "input wait"},
        KindCase{"forward", kinds(10, 180, 200, 30, 20), "compute", "forward"},
        KindCase{"backward", kinds(10, 100, 260, 30, 20), "compute", "backward"},
        KindCase{"slow_core", kinds(10, 150, 300, 45, 20), "compute", "backward"},
        KindCase{"larger_batch", kinds(10, 150, 300, 30, 20), "input_imbalance", "backward"},
        KindCase{"host", kinds(10, 100, 200, 30, 99), "host", "host time outside of every range"},
        KindCase{"several", kinds(60, 150, 200, 30, 70), "mixed", ""},
        KindCase{"nothing", kPeer, "unknown", ""}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(CauseTest, UniformIsNoLargerBatch) {
  const Cause cause = Case(kinds(10, 150, 300, 45, 20)).cause();
  EXPECT_TRUE(cause.uniform);
  EXPECT_FALSE(cause.like_batch);
}

// Forward and backward share a factor by chance, and the delay is elsewhere.
TEST(CauseTest, AFactorThatExplainsLittleIsNoReason) {
  for (const KindNs& culprit :
       {kinds(10, 101, 202, 130, 20), kinds(10, 101, 202, 45, 20), kinds(10, 110, 220, 130, 20)}) {
    Case one(culprit);
    one.work.on_device = true;
    EXPECT_EQ(one.cause().word, "compute");
    EXPECT_FALSE(one.cause().uniform);
  }
  Case slow(kinds(10, 150, 300, 45, 20));
  slow.work.on_device = true;
  EXPECT_EQ(slow.cause().word, "device");
}

TEST(CauseTest, WithoutACoreIsContention) {
  KindNs culprit = kinds(10, 110, 210, 30, 20);
  culprit[index_of(OwnKind::kRunnable)] = 80 * kCauseMs;
  EXPECT_EQ(Case(culprit).cause().word, "cpu_contention");
}

TEST(CauseTest, LoggingIsRank0sWorkOnRank0Only) {
  KindNs culprit = kPeer;
  culprit[index_of(OwnKind::kLogging)] = 80 * kCauseMs;
  Case one(culprit);
  EXPECT_EQ(one.cause().word, "host");
  EXPECT_EQ(one.cause().kind, "logging");
  one.rank0 = true;
  EXPECT_EQ(one.cause().word, "rank0_work");
}

TEST(CauseTest, LongerStageOfAPipeline) {
  Case one(kinds(10, 150, 300, 30, 20));
  for (size_t r = 0; r < 3; ++r) one.roles.of[r].is_stage = true;
  EXPECT_EQ(one.cause().word, "stage_imbalance");
}

TEST(CauseTest, AStageOfMoreOperatorsIsNotOnlyLonger) {
  Case one(kinds(10, 150, 300, 45, 20));
  for (size_t r = 0; r < 3; ++r) {
    one.roles.of[r].is_stage = true;
    one.machines[r].kernels_per_step = 1000;
  }
  EXPECT_EQ(one.cause().word, "compute");
  EXPECT_TRUE(one.cause().only_longer);
  one.machines[1].kernels_per_step = 1400;
  EXPECT_EQ(one.cause().word, "stage_imbalance");
  EXPECT_FALSE(one.cause().only_longer);
}

TEST(CauseTest, WhatItsRoleReadsIsSaidOfBoth) {
  Case one(kinds(30, 100, 200, 30, 20));
  one.work.of_role.assign(3, KindNs{});
  one.work.of_role[1][index_of(OwnKind::kInput)] = 8 * kCauseMs;
  const Cause cause = one.cause();
  EXPECT_EQ(cause.word, "dataloader");
  EXPECT_EQ(cause.own_ns, 38 * kCauseMs);
  EXPECT_EQ(cause.peers_ns, 18 * kCauseMs);
}

TEST(CauseTest, ElementsOfBatchesDecide) {
  Case one(kinds(10, 180, 200, 30, 20));
  for (size_t r = 0; r < 3; ++r) one.machines[r].batch_elements = r == 1 ? 1500 : 1000;
  EXPECT_EQ(one.cause().word, "input_imbalance");
}

TEST(CauseTest, DevicesByTheirClocksAndModels) {
  Case one(kinds(10, 150, 300, 45, 20));
  one.work.on_device = true;
  EXPECT_EQ(one.cause().word, "device") << "nothing shows why";
  for (Machine& machine : one.machines) {
    machine.sm_clock_mhz = 1980;
    machine.memory_clock_mhz = 2600;
    machine.throttled = 0;
    machine.model = "A";
  }
  one.machines[1].sm_clock_mhz = 1400;
  EXPECT_EQ(one.cause().word, "gpu_throttle");
  one.machines[1].sm_clock_mhz = 1980;
  one.machines[1].throttled = 0.8;
  EXPECT_EQ(one.cause().word, "gpu_throttle");
  one.machines[1].model = "B";
  EXPECT_EQ(one.cause().word, "device");
  one.machines[1].ecc_errors = 2;
  EXPECT_EQ(one.cause().word, "gpu_memory");
}

using schema::ThreadWait;

// 99 ms outside every phase, its peers 20, with this many samples, each in a step of its own.
Case waiting(std::initializer_list<std::pair<ThreadWait, double>> looks) {
  Case one(kinds(10, 100, 200, 30, 99));
  for (Machine& machine : one.machines) machine.cpu_per_step_ns = 300.0 * kCauseMs;
  for (const auto& [wait, count] : looks) {
    one.machines[1].looks.counts[static_cast<size_t>(wait)] = count;
    one.machines[1].looks.observations[static_cast<size_t>(wait)] = count;
  }
  return one;
}

TEST(CauseTest, ThreadThatRunsOutsideOfPhases) {
  Case one = waiting({});
  const Cause asleep = one.cause();
  EXPECT_EQ(asleep.word, "host") << "nobody knows what it waited for";
  EXPECT_THAT(asleep.reasons.back(), HasSubstr("was not recorded"));
  one.machines[1].cpu_per_step_ns = 375.0 * kCauseMs;
  EXPECT_EQ(one.cause().word, "host");
  EXPECT_THAT(one.cause().reasons.back(), Not(HasSubstr("neither ran"))) << "it runs";
}

TEST(CauseTest, LooksTellWhatTheThreadWaitedFor) {
  const auto last_reason = [](const Case& one) { return one.cause().reasons.back(); };
  const Case locked = waiting({{ThreadWait::kLock, 27}, {ThreadWait::kRunning, 2}});
  EXPECT_EQ(locked.cause().word, "synchronisation");
  EXPECT_THAT(last_reason(locked), HasSubstr("in 27 of 29 samples"));
  const Case asleep = waiting({{ThreadWait::kSleep, 27}, {ThreadWait::kLock, 2}});
  EXPECT_EQ(asleep.cause().word, "host");
  EXPECT_THAT(last_reason(asleep), HasSubstr("slept"));
  const Case writing = waiting({{ThreadWait::kDisk, 27}});
  EXPECT_EQ(writing.cause().word, "host");
  EXPECT_THAT(last_reason(writing), HasSubstr("disk"));
  // Both about equally.
  const Case both = waiting({{ThreadWait::kSleep, 14}, {ThreadWait::kLock, 15}});
  EXPECT_EQ(both.cause().word, "host");
  EXPECT_THAT(last_reason(both), HasSubstr("is not clear from 29 samples"));
}

TEST(CauseTest, FewLooksProveNothing) {
  // Its peers could wait like that for all of their 20 ms: there are no samples.
  EXPECT_EQ(waiting({{ThreadWait::kLock, 4}}).cause().word, "host");
  // In one long step a hundred samples see one wait.
  Case once = waiting({{ThreadWait::kLock, 100}});
  once.machines[1].looks.observations = {};
  once.machines[1].looks.observations[static_cast<size_t>(ThreadWait::kLock)] = 1;
  EXPECT_EQ(once.cause().word, "host");
  EXPECT_EQ(waiting({{ThreadWait::kLock, 12}}).cause().word, "synchronisation");
}

// Waiting that its peers do as well does not explain its lateness.
TEST(CauseTest, PeersThatWaitAlikeAreNoExcess) {
  Case one(kinds(10, 100, 200, 30, 150));
  for (size_t rank = 0; rank < 3; ++rank) {
    const auto wait = static_cast<size_t>(ThreadWait::kLock);
    for (KindNs& of_step : one.work.kind_ns[rank]) {
      if (rank != 1) of_step[index_of(OwnKind::kUnattributed)] = 80 * kCauseMs;
    }
    one.machines[rank].looks.counts[wait] = one.machines[rank].looks.observations[wait] = 60;
  }
  auto& own = one.machines[1].looks;
  own.observations[static_cast<size_t>(ThreadWait::kSleep)] = 50;  // 70 of 150 ms
  EXPECT_EQ(one.cause().word, "host") << "80 ms in a lock, as its peers";
  for (const size_t rank : {size_t{0}, size_t{2}}) {
    one.machines[rank].looks.observations = {};
    one.machines[rank].looks.observations[static_cast<size_t>(ThreadWait::kRunning)] = 60;
  }
  own.observations[static_cast<size_t>(ThreadWait::kSleep)] = 0;
  EXPECT_EQ(one.cause().word, "synchronisation") << "they run meanwhile";
}

TEST(CauseTest, WaitsWithinPhasesAreNoneOfIt) {
  Case one = waiting({{ThreadWait::kLock, 29}});
  one.phases_marked = false;
  EXPECT_EQ(one.cause().word, "host") << "it may be within a phase";
}

TEST(CauseTest, PhaseThatTakesNoCpuTimeIsNoComputation) {
  Case one(kinds(10, 100, 280, 30, 20));
  EXPECT_EQ(one.cause().word, "compute") << "CPU time is not known";
  for (Machine& machine : one.machines) machine.cpu_per_step_ns = 300.0 * kCauseMs;
  EXPECT_EQ(one.cause().word, "host");
  one.machines[1].cpu_per_step_ns = 380.0 * kCauseMs;
  EXPECT_EQ(one.cause().word, "compute") << "it runs";
  one.machines[1].cpu_per_step_ns = 300.0 * kCauseMs;
  one.work.on_device = true;
  EXPECT_EQ(one.cause().word, "compute") << "its device works, whatever the host does";

  Case some(kinds(10, 100, 280, 30, 20), Shape::kTransient);
  some.suspect.when = {3};  // 80 ms in one step of ten
  for (Machine& machine : some.machines) machine.cpu_per_step_ns = 300.0 * kCauseMs;
  some.machines[1].cpu_per_step_ns = 308.0 * kCauseMs;
  EXPECT_EQ(some.cause().word, "compute") << "8 ms per step are all of it";
}

// Two ranks, one of them 80 ms longer in forward in each step, by turns.
TEST(CauseTest, TurnsAreNoFluctuationAndNoComputationUnlessThreadsRan) {
  Case one(kPeer, Shape::kRotating);
  one.roles = same_roles(2);
  one.machines.resize(2);
  one.work.kind_ns.resize(2);
  one.work.own_ns.resize(2);
  one.suspect.rank.reset();
  one.suspect.one_at_a_time = true;
  for (size_t s = 0; s < one.work.steps.size(); ++s) {
    one.work.kind_ns[s % 2][s][index_of(OwnKind::kForward)] += 80 * kCauseMs;
    one.suspect.turns.push_back({s % 2, s});
  }
  EXPECT_GT(fluctuation_of(one.work, {}), 0.2);
  EXPECT_EQ(fluctuation_of(one.work, one.suspect.turns), 0);
  EXPECT_EQ(one.cause().word, "compute") << "CPU time is not known";
  for (Machine& machine : one.machines) machine.cpu_per_step_ns = 330.0 * kCauseMs;
  EXPECT_EQ(one.cause().word, "host");
  for (Machine& machine : one.machines) machine.cpu_per_step_ns = 365.0 * kCauseMs;
  EXPECT_EQ(one.cause().word, "compute") << "they ran for most of it";
}

TEST(CauseTest, KernelThatTakesMemoryAndGivesItAgain) {
  // In backward, outside every phase, or in a range.
  KindNs in_range = kPeer;
  in_range[index_of(OwnKind::kRange)] = 80 * kCauseMs;
  for (const auto& own : {kinds(10, 100, 280, 30, 20), kinds(10, 100, 200, 30, 99), in_range}) {
    Case one(own);
    one.machines[1].looks.counts[static_cast<size_t>(ThreadWait::kRunning)] = 50;
    one.machines[1].looks.observations = one.machines[1].looks.counts;
    for (Machine& machine : one.machines) {
      machine.cpu_per_step_ns = 300.0 * kCauseMs;
      machine.kernel_cpu_per_step_ns = 5.0 * kCauseMs;
      machine.faults_per_step = 100;
    }
    one.machines[1].cpu_per_step_ns = 379.0 * kCauseMs;
    const std::string otherwise = one.cause().word;
    one.machines[1].kernel_cpu_per_step_ns = 75.0 * kCauseMs;
    EXPECT_EQ(one.cause().word, otherwise) << "the kernel may work for anything";
    one.machines[1].faults_per_step = 300;
    EXPECT_EQ(one.cause().word, "allocator");
    EXPECT_TRUE(one.cause().observed);
    EXPECT_THAT(one.cause().reasons.back(), HasSubstr("300 page faults"));
    one.machines[1].kernel_cpu_per_step_ns = 30.0 * kCauseMs;
    EXPECT_EQ(one.cause().word, otherwise) << "it is not what took so long";
  }
}

// All computation takes 1.45 times as long.
TEST(CauseTest, LargerBatchesExplainAtMostTheirSquare) {
  Case one(kinds(10, 150, 300, 30, 20));
  const auto of_elements = [&](double elements) {
    for (Machine& machine : one.machines) machine.batch_elements = 1000;
    one.machines[1].batch_elements = elements;
    return one.cause();
  };
  EXPECT_EQ(of_elements(1600).word, "input_imbalance");
  EXPECT_TRUE(of_elements(1600).observed);
  EXPECT_EQ(of_elements(1250).word, "input_imbalance") << "attention: 1.56 times as much";
  for (const double elements : {1000, 1150}) {
    EXPECT_EQ(of_elements(elements).word, "compute") << elements;
    EXPECT_FALSE(of_elements(elements).observed);
    EXPECT_THAT(of_elements(elements).reasons.back(), HasSubstr("not due to its batches"));
  }
  for (Machine& machine : one.machines) machine.batch_elements_are_samples = true;
  EXPECT_EQ(of_elements(1000).word, "input_imbalance") << "its samples can be longer";
  EXPECT_FALSE(of_elements(1000).observed);
}

TEST(CauseTest, ComputationAsAWholeIsComparedToo) {
  const Cause cause = Case(kinds(10, 100, 233, 30, 20)).cause();
  EXPECT_NEAR(cause.relative, 33.0 / 200, 1e-9);
  EXPECT_NEAR(cause.of_all_computation, 33.0 / 330, 1e-9);
  EXPECT_NEAR(Case(kinds(10, 80, 253, 30, 20)).cause().of_all_computation, 33.0 / 330, 1e-9)
      << "wherever it is counted";
}

TEST(CauseTest, PausesNowAndThenOutsideOfPhases) {
  Case one(kinds(10, 100, 200, 30, 99), Shape::kTransient);
  EXPECT_EQ(one.cause().word, "gc");
  one.collections_recorded = true;
  EXPECT_EQ(one.cause().word, "host") << "a collection would have a range";
}

// Steps of 100 each; 0 to 40 of each is forward, the rest unmarked except for a named range from 90
// on.
TEST(MachinesTest, LooksWithinHostTimeOfSteadySteps) {
  Steps steps;
  Lattice pieces;
  const auto piece = [&](int64_t begin, int64_t end, Category category, HostDetail detail) {
    pieces.push_back({{{begin}, {end}}, category, category, detail});
  };
  for (int64_t s = 0; s < 5; ++s) {
    const int64_t at = 100 * s;
    steps.steps.push_back({.index = s, .windows = {{{at}, {at + 80}}}, .device_windows = {}});
    piece(at, at + 40, Category::kForward, HostDetail::kNone);
    piece(at + 40, at + 90, Category::kHost, HostDetail::kUnattributed);
    piece(at + 90, at + 100, Category::kHost, HostDetail::kRange);
  }
  steps.first_steady = 1;
  steps.last_steady = 3;
  using enum ThreadWait;
  const std::vector<WaitSample> samples = {{{-5}, kLock},   {{50}, kLock},  // before it is steady
                                           {{120}, kLock},                  // in forward
                                           {{140}, kSleep}, {{150}, kSleep}, {{160}, kSleep},
                                           {{170}, kLock},  // one step
                                           {{195}, kLock},  // in a range
                                           {{285}, kLock},  // between two steps
                                           {{389}, kDisk},  {{450}, kLock},  {{999}, kLock}};
  const Looks looks = looks_of(samples, steps, 0, pieces);
  const auto counts = [&](ThreadWait wait) { return looks.counts[static_cast<size_t>(wait)]; };
  EXPECT_EQ(counts(kSleep), 3);
  EXPECT_EQ(counts(kLock), 2);
  EXPECT_EQ(counts(kDisk), 1);
  EXPECT_EQ(counts(kRunning), 0);
  EXPECT_DOUBLE_EQ(looks.observations[static_cast<size_t>(kSleep)], 0.75);
  EXPECT_DOUBLE_EQ(looks.observations[static_cast<size_t>(kLock)], 1.25);
  EXPECT_DOUBLE_EQ(looks.observations[static_cast<size_t>(kDisk)], 1);
}

TEST(MachinesTest, CpuTimeBySamplesThatCoverAThirdOfTheSteps) {
  const std::vector<CounterSample> samples = {
      {{0}, 7}, {{500}, 100}, {{1000}, 150}, {{1500}, 400}, {{2000}, 650}};
  EXPECT_EQ(cpu_in(samples, {{200}, {1200}}), 100) << "a tenth of 1000";
  EXPECT_EQ(cpu_in(samples, {{0}, {2000}}), 643);
  EXPECT_EQ(cpu_in(samples, {{499}, {2500}}), (650 - 100) / 1500.0 * 2001);
  EXPECT_EQ(cpu_in(samples, {{1900}, {3000}}), std::nullopt) << "one";
  EXPECT_EQ(cpu_in(samples, {{1400}, {4000}}), std::nullopt) << "500 of 2600";
  EXPECT_EQ(cpu_in({}, {{0}, {100}}), std::nullopt);
}

TEST(MachinesTest, ElementsOfShapes) {
  EXPECT_EQ(elements_of("32x3x4"), 384);
  EXPECT_EQ(elements_of("32"), 32) << "only the number of samples is known";
  for (const char* other : {"", "x", "32x", "x32", "32xa", "-3x4", "[32, 3]", "32 3"})
    EXPECT_EQ(elements_of(other), std::nullopt) << other;
}

}  // namespace
}  // namespace dprof::analyzer
