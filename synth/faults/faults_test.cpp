// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "synth/faults/catalogue.h"
#include "synth/generate.h"

namespace dprof::synth {
namespace {

Spec with(std::string_view fault, Shape shape = Shape::kCpu) {
  Spec spec;
  spec.ranks = 6;
  spec.hosts = 2;
  spec.steps = 24;
  spec.shape = shape;
  Result<FaultSpec> parsed = parse_fault(fault);
  EXPECT_TRUE(parsed.ok());
  if (parsed.ok()) spec.faults = {*parsed};
  return spec;
}

int64_t cost_of(const Spec& spec) {
  const Result<Truth> truth = execute(spec);
  EXPECT_TRUE(truth.ok());
  return truth.ok() ? truth->faults.front().cost_ns.value_or(-1) : -1;
}

TEST(Catalogue, HasEachNameOnceAndASentence) {
  std::set<std::string_view> names;
  int hangs = 0;
  for (const FaultKind& kind : catalogue()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_FALSE(kind.sentence.empty());
    if (kind.family == Family::kHang) ++hangs;
    if (kind.family == Family::kFault) {
      EXPECT_FALSE(kind.cause.empty()) << kind.name;
    }
  }
  EXPECT_GE(hangs, 12);
}

// Each fault costs the job something, on the shape for which it is meant.
TEST(Faults, EachCostsTheJobTime) {
  for (const FaultKind& kind : catalogue()) {
    if (kind.family != Family::kFault) continue;
    const Shape shape = kind.gpu_only ? Shape::kGpu : Shape::kCpu;
    EXPECT_GT(cost_of(with(kind.name, shape)), 1'000'000) << kind.name;
  }
}

TEST(Faults, ASleepCostsWhatItLasts) {
  EXPECT_NEAR(static_cast<double>(cost_of(with("sleep-forward:rank=2,ms=20"))), 20e6, 1.5e6);
  EXPECT_NEAR(static_cast<double>(cost_of(with("sleep-backward:rank=2,ms=20"))), 20e6, 1.5e6);
  EXPECT_NEAR(static_cast<double>(cost_of(with("loader:rank=2,ms=20"))), 20e6, 1.5e6);
}

// Two workers that take three steps per batch deliver one per one and a half steps.
TEST(Faults, TheLoadersWorkersMakeTheStepAsLongAsTheyNeed) {
  Spec spec = with("slow-storage:rank=2,factor=6");
  spec.noise = 0;
  spec.steps = 40;
  const Result<Truth> truth = execute(spec);
  ASSERT_TRUE(truth.ok());
  const std::vector<StepTruth>& steps = truth->ranks[2].steps;
  const int64_t span = steps[37].begin - steps[17].begin;
  EXPECT_NEAR(static_cast<double>(span) / 20, 1.5 * spec.step_ms * 1e6, 3e6);
}

TEST(Faults, ShapesSayWhen) {
  EXPECT_NEAR(static_cast<double>(cost_of(with("sleep-forward:ms=40,every=4"))), 10e6, 3e6);
  EXPECT_NEAR(static_cast<double>(cost_of(with("sleep-forward:ms=20,shape=rotating"))), 20e6, 2e6);
  EXPECT_NEAR(static_cast<double>(cost_of(with("sleep-forward:ms=20,from=100"))), 0, 1e5);
}

int64_t busy_ns(const Trail& trail, Busy what) {
  int64_t sum = 0;
  for (const HostPiece& piece : trail.pieces) {
    if (piece.busy == what) sum += piece.end - piece.begin;
  }
  return sum;
}

TEST(Faults, AHostsRanksAreSlowTogether) {
  std::vector<Trail> trails;
  ASSERT_TRUE(execute(with("slow-rank:host=1,factor=2"), &trails).ok());
  const auto forward = [&](size_t rank) {
    return static_cast<double>(busy_ns(trails[rank], Busy::kForward));
  };
  for (const size_t rank : {3U, 4U, 5U}) EXPECT_NEAR(forward(rank) / forward(0), 2, 0.1);
  for (const size_t rank : {1U, 2U}) EXPECT_NEAR(forward(rank) / forward(0), 1, 0.05);
}

TEST(Faults, EachRankPausesInStepsOfItsOwn) {
  std::vector<Trail> trails;
  Spec spec = with("gc-pauses:ms=10,probability=0.3");
  spec.steps = 60;
  ASSERT_TRUE(execute(spec, &trails).ok());
  std::set<int64_t> sums;
  for (const Trail& trail : trails) sums.insert(busy_ns(trail, Busy::kGc));
  EXPECT_GT(sums.size(), 1U);
  EXPECT_GT(*sums.begin(), 0);
  EXPECT_LT(*sums.rbegin(), 60 * 10'000'000);
}

TEST(Faults, AStageHasMoreLayersAndALongBatchHasNot) {
  const auto operators = [](std::string_view fault) {
    Spec spec = with(fault);
    spec.technique = Technique::kPipeline;
    std::vector<Trail> trails;
    EXPECT_TRUE(execute(spec, &trails).ok());
    return std::pair(trails[1].ranges.size(), trails[2].ranges.size());
  };
  const auto layers = operators("stage-imbalance:rank=1,factor=2");
  EXPECT_GT(static_cast<double>(layers.first), 1.5 * static_cast<double>(layers.second));
  const auto lengths = operators("long-sequences:rank=1,factor=2");
  EXPECT_EQ(lengths.first, lengths.second);
}

// In a pipeline over three hosts, only transfers over the last host's link are slow.
TEST(Faults, AMessageIsSlowOverItsOwnLinkOnly) {
  const auto shortest = [](std::string_view fault, int from, int to) {
    Spec spec = with(fault);
    spec.hosts = 3;
    spec.technique = Technique::kPipeline;
    const Result<Truth> truth = execute(spec);
    EXPECT_TRUE(truth.ok());
    int64_t least = kNever;  // others may share its links
    for (const CollectiveTruth& c : truth->collectives) {
      if (c.instance.root == from && c.instance.peer == to)
        least = std::min(least, c.instance.end - c.instance.begin);
    }
    return static_cast<double>(least);
  };
  const auto ratio = [&](int from, int to) {
    return shortest("slow-link:host=2,factor=8", from, to) /
           shortest("slow-link:host=0,factor=1", from, to);
  };
  EXPECT_GT(ratio(3, 4), 4);
  EXPECT_NEAR(ratio(1, 2), 1, 0.2);
}

// In every hang, exactly the culprits are missing from what the others wait for.
TEST(Hangs, NobodyButTheTemplateStopsTheJob) {
  for (const Shape shape : {Shape::kCpu, Shape::kGpu}) {
    for (const FaultKind& kind : catalogue()) {
      if (kind.family != Family::kHang) continue;
      const Result<Truth> truth = execute(with(kind.name, shape));
      ASSERT_TRUE(truth.ok()) << truth.error().what;
      EXPECT_EQ(truth->hang, kind.name);
      EXPECT_EQ(truth->culprits.empty(), kind.name == "hang-network");
      const auto open = std::ranges::count_if(
          truth->collectives, [](const CollectiveTruth& c) { return c.instance.end >= kNever; });
      EXPECT_GE(open, 1) << kind.name;
      for (const RankTruth& rank : truth->ranks) {
        EXPECT_GE(rank.steps.size(), 12U - 1) << kind.name;
        EXPECT_LE(rank.steps.size(), 13U) << kind.name;
      }
    }
  }
}

TEST(Hangs, OnlyTheCulpritsHaveNotCome) {
  for (const std::string_view name : {"hang-sleep", "hang-killed", "hang-lost-node",
                                      "hang-early-exit", "hang-data-stall", "hang-exception"}) {
    const Result<Truth> truth = execute(with(name));
    ASSERT_TRUE(truth.ok());
    const auto open = std::ranges::find_if(
        truth->collectives, [](const CollectiveTruth& c) { return c.instance.end >= kNever; });
    ASSERT_NE(open, truth->collectives.end());
    std::vector<int> absent;
    for (int rank = 0; rank < 6; ++rank) {
      if (std::ranges::count(open->members, rank, &MemberTruth::rank) == 0) absent.push_back(rank);
    }
    EXPECT_EQ(absent, truth->culprits) << name;
  }
}

// On the rank in the middle, the other communicator's collective waits in the queue.
TEST(Hangs, AQueuedCollectiveHasNotBegun) {
  for (const Shape shape : {Shape::kCpu, Shape::kGpu}) {
    std::vector<Trail> trails;
    ASSERT_TRUE(execute(with("hang-queued:rank=1,other=2", shape), &trails).ok());
    const std::vector<WorkDone>& works = trails[2].works;
    const WorkDone& first = works.end()[-2];
    const WorkDone& behind = works.end()[-1];
    EXPECT_LT(first.start, kNever);
    EXPECT_EQ(first.end, kNever);
    EXPECT_EQ(behind.start, kNever);
    EXPECT_LT(behind.enqueue, kNever);
    EXPECT_NE(first.call.group, behind.call.group);
    EXPECT_LT(trails[0].works.back().start, kNever);
  }
}

// Two ranks that each wait in a collective that the other one has not called.
TEST(Hangs, SwappedCommunicatorsDeadlock) {
  for (const Shape shape : {Shape::kCpu, Shape::kGpu}) {
    std::vector<Trail> trails;
    ASSERT_TRUE(execute(with("hang-swapped:rank=1,other=2", shape), &trails).ok());
    const WorkDone& one = trails[1].works.back();
    const WorkDone& two = trails[2].works.back();
    EXPECT_NE(one.call.group, two.call.group);
    for (const WorkDone* work : {&one, &two}) {
      EXPECT_LT(work->start, kNever);
      EXPECT_EQ(work->end, kNever);
    }
  }
}

int64_t slept_before(const Trail& trail, int bucket) {
  int64_t until = kNever;
  for (const WorkDone& work : trail.works) {
    if (work.program == 6 && work.call.bucket == bucket) until = work.enqueue;
  }
  int64_t ns = 0;
  for (const HostPiece& piece : trail.pieces) {
    const bool in_step = piece.begin >= trail.steps[5].begin && piece.end <= until;
    if (in_step && piece.busy == Busy::kHost && piece.end - piece.begin > 1'000'000)
      ns += piece.end - piece.begin;
  }
  return ns;
}

// With four buckets: before any, in the middle of the second, between the second and the third.
TEST(Faults, ADelayComesWhereItIsPutInBackward) {
  for (const Technique technique : {Technique::kDdp, Technique::kZero1}) {
    for (const auto& [at, first] : {std::pair("0", 0), {"0.375", 1}, {"0.5", 2}, {"0.9", 3}}) {
      Spec spec = with(std::string("sleep-backward:rank=2,ms=20,at=") + at);
      spec.technique = technique;
      std::vector<Trail> trails;
      ASSERT_TRUE(execute(spec, &trails).ok());
      for (int bucket = 0; bucket < 4; ++bucket) {
        EXPECT_NEAR(static_cast<double>(slept_before(trails[2], bucket)),
                    bucket >= first ? 20e6 : 0, 1e6)
            << at << " bucket " << bucket;
      }
    }
  }
}

// Beyond what is added, the run is the same.
TEST(Faults, OperatorsAroundADelayAreAsLongAsWithoutIt) {
  std::vector<Trail> with_it;
  std::vector<Trail> without;
  ASSERT_TRUE(execute(with("slow-backward:rank=2,ms=20,at=0.4"), &with_it).ok());
  ASSERT_TRUE(execute(with("slow-backward:rank=2,ms=0,at=0.4"), &without).ok());
  const double more = static_cast<double>(busy_ns(with_it[2], Busy::kBackward) -
                                          busy_ns(without[2], Busy::kBackward));
  EXPECT_NEAR(more / 24, 20e6, 1e6);
  EXPECT_EQ(busy_ns(with_it[1], Busy::kBackward), busy_ns(without[1], Busy::kBackward));
}

TEST(Faults, HitAGroupOfRanks) {
  const auto hit = [](std::string_view fault, Technique technique, int per_group) {
    Spec spec = with(fault);
    spec.technique = technique;
    (technique == Technique::kPipeline ? spec.replicas : spec.tensor_ranks) = per_group;
    std::vector<Trail> trails;
    const Result<Truth> truth = execute(spec, &trails);
    EXPECT_TRUE(truth.ok()) << fault;
    std::vector<int> ranks;
    for (int r = 0; truth.ok() && r < spec.ranks; ++r) {
      if (busy_ns(trails[static_cast<size_t>(r)], Busy::kHost) > 200'000'000) ranks.push_back(r);
    }
    if (truth.ok()) {
      EXPECT_EQ(truth->faults.front().ranks, ranks);
    }
    return ranks;
  };
  using Ranks = std::vector<int>;
  const std::string sleep = "sleep-forward:rank=3,ms=20,of=";
  EXPECT_EQ(hit(sleep + "host", Technique::kDdp, 1), (Ranks{3, 4, 5}));
  EXPECT_EQ(hit("sleep-forward:ms=20,of=host,host=0", Technique::kDdp, 1), (Ranks{0, 1, 2}));
  EXPECT_EQ(hit(sleep + "tensor", Technique::kTensorData, 2), (Ranks{2, 3}));
  EXPECT_EQ(hit(sleep + "data", Technique::kTensorData, 2), (Ranks{1, 3, 5}));
  EXPECT_EQ(hit(sleep + "stage", Technique::kPipeline, 2), (Ranks{2, 3}));
  EXPECT_EQ(hit(sleep + "replica", Technique::kPipeline, 2), (Ranks{1, 3, 5}));
}

TEST(Faults, GrowEvenly) {
  std::vector<Trail> trails;
  ASSERT_TRUE(execute(with("sleep-forward:rank=2,ms=20,shape=growing,from=4"), &trails).ok());
  std::vector<int64_t> slept(24, 0);
  for (const HostPiece& piece : trails[2].pieces) {
    for (size_t s = 0; s < slept.size(); ++s) {
      const StepDone& step = trails[2].steps[s];
      if (piece.busy == Busy::kHost && piece.begin >= step.begin && piece.end <= step.end)
        slept[s] = std::max(slept[s], piece.end - piece.begin);
    }
  }
  EXPECT_LT(slept[3], 500'000);
  EXPECT_NEAR(static_cast<double>(slept[13]), 10e6, 0.5e6);
  EXPECT_NEAR(static_cast<double>(slept[23]), 20e6, 0.5e6);
}

TEST(Faults, RefusesWhatMakesNoSense) {
  EXPECT_FALSE(execute(with("sleep-forward:of=tensor")).ok());
  EXPECT_FALSE(execute(with("sleep-forward:of=stage")).ok());
  EXPECT_FALSE(execute(with("sleep-forward:of=everybody")).ok());
  EXPECT_FALSE(execute(with("sleep-forward:at=0.5")).ok());
  EXPECT_FALSE(execute(with("sleep-backward:at=1")).ok());
  EXPECT_FALSE(execute(with("no-such-fault")).ok());
  EXPECT_FALSE(execute(with("sleep-forward:rank=6")).ok());
  EXPECT_FALSE(execute(with("gpu-throttle")).ok());
  EXPECT_FALSE(execute(with("slow-link:host=2")).ok());
  Spec one_host = with("slow-link");
  one_host.hosts = 1;
  EXPECT_FALSE(execute(one_host).ok());
  EXPECT_FALSE(parse_fault("sleep-forward:colour=3").ok());
  EXPECT_FALSE(parse_fault("sleep-forward:ms=many").ok());
  EXPECT_FALSE(parse_clock("host1").ok());
}

TEST(Healthy, RunsHaveNoCulprit) {
  for (const FaultKind& kind : catalogue()) {
    if (kind.family != Family::kHealthy) continue;
    Spec spec;
    spec.steps = 5;
    spec.healthy = std::string(kind.name);
    if (spec.healthy == "unequal-stages") spec.technique = Technique::kPipeline;
    const Result<Truth> truth = execute(spec);
    ASSERT_TRUE(truth.ok()) << kind.name;
    EXPECT_TRUE(truth->faults.empty());
    EXPECT_FALSE(truth->hang);
  }
}

}  // namespace
}  // namespace dprof::synth
