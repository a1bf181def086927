// SPDX-License-Identifier: Apache-2.0
// Properties of every run, whatever is trained and however.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "synth/generate.h"

namespace dprof::synth {
namespace {

struct Case {
  const char* name;
  Shape shape;
  Technique technique;
  int ranks = 4;
  int hosts = 2;
  double contention = 1;
};

class Conservation : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    spec_.ranks = GetParam().ranks;
    spec_.hosts = GetParam().hosts;
    spec_.steps = 6;
    spec_.shape = GetParam().shape;
    spec_.technique = GetParam().technique;
    spec_.contention = GetParam().contention;
    Result<Truth> truth = execute(spec_, &trails_);
    ASSERT_TRUE(truth.ok()) << truth.error().what;
    truth_ = *std::move(truth);
  }

  Spec spec_;
  std::vector<Trail> trails_;
  Truth truth_;
};

bool has_root(schema::Function function) {
  return function == schema::Function::kBroadcast || function == schema::Function::kReduce;
}

TEST_P(Conservation, EveryRankGetsThroughAllSteps) {
  for (const RankTruth& rank : truth_.ranks) EXPECT_EQ(rank.steps.size(), 6U);
}

TEST_P(Conservation, NobodyEndsBeforeAllHaveBegun) {
  ASSERT_FALSE(truth_.collectives.empty());
  for (const CollectiveTruth& collective : truth_.collectives) {
    const Instance& i = collective.instance;
    const size_t members =
        i.peer >= 0 ? 2 : truth_.groups[static_cast<size_t>(i.group)].members.size();
    ASSERT_EQ(collective.members.size(), members);
    if (has_root(i.function)) continue;
    int64_t last = 0;
    for (const MemberTruth& m : collective.members) last = std::max(last, m.start);
    EXPECT_EQ(i.last_start, last);
    for (const MemberTruth& m : collective.members) {
      EXPECT_GT(m.end, last);
      EXPECT_EQ(m.wait, last - m.start);
    }
  }
}

TEST_P(Conservation, EndsOfACollectiveLieWithinTheSpread) {
  const auto spread = static_cast<int64_t>(spec_.network.spread_us * 1e3);
  for (const CollectiveTruth& collective : truth_.collectives) {
    if (has_root(collective.instance.function)) continue;
    for (const MemberTruth& m : collective.members) {
      EXPECT_GE(m.end, collective.instance.end);
      EXPECT_LE(m.end, collective.instance.end + spread);
    }
  }
}

TEST_P(Conservation, CategoriesSumToTheStep) {
  for (const RankTruth& rank : truth_.ranks) {
    for (const StepTruth& step : rank.steps) {
      int64_t sum = 0;
      for (const int64_t ns : step.category_ns) {
        EXPECT_GE(ns, 0);
        sum += ns;
      }
      EXPECT_EQ(sum, step.window_end - step.window_begin);
      EXPECT_GT(sum, 0);
    }
  }
}

TEST_P(Conservation, LanesAreInOrderAndRangesNest) {
  for (const Trail& trail : trails_) {
    std::map<int32_t, std::vector<int64_t>> open;
    std::map<int32_t, int64_t> last;
    for (const RangeDone& range : trail.ranges) {
      ASSERT_GE(range.begin, last[range.thread]);
      last[range.thread] = range.begin;
      std::vector<int64_t>& ends = open[range.thread];
      while (!ends.empty() && ends.back() <= range.begin) ends.pop_back();
      if (!ends.empty()) {
        ASSERT_LE(range.end, ends.back());
      }
      ends.push_back(range.end);
    }
    std::map<int32_t, int64_t> free;
    for (const ActivityDone& a : trail.activities) {
      ASSERT_GE(a.begin, free[a.queue]) << "two activities of a stream at once";
      ASSERT_GE(a.begin, a.call) << "before its launch";
      free[a.queue] = a.end;
    }
    for (size_t p = 1; p < trail.pieces.size(); ++p)
      ASSERT_EQ(trail.pieces[p].begin, trail.pieces[p - 1].end) << "a gap in the host's life";
  }
}

TEST_P(Conservation, TheSameSeedGivesTheSameRunAndAnotherOneDoesNot) {
  std::vector<Trail> again;
  std::vector<Trail> other;
  ASSERT_TRUE(execute(spec_, &again).ok());
  spec_.seed = 2;
  ASSERT_TRUE(execute(spec_, &other).ok());
  const auto times = [](const std::vector<Trail>& trails) {
    std::vector<int64_t> all;
    for (const Trail& trail : trails) {
      for (const RangeDone& range : trail.ranges) all.insert(all.end(), {range.begin, range.end});
    }
    return all;
  };
  EXPECT_EQ(times(trails_), times(again));
  EXPECT_NE(times(trails_), times(other));
}

INSTANTIATE_TEST_SUITE_P(
    All, Conservation,
    ::testing::Values(Case{"ddp_cpu", Shape::kCpu, Technique::kDdp},
                      Case{"ddp_gpu", Shape::kGpu, Technique::kDdp},
                      Case{"ddp_contended", Shape::kCpu, Technique::kDdp, 4, 2, 1.4},
                      Case{"one_rank", Shape::kCpu, Technique::kDdp, 1, 1},
                      Case{"zero1_cpu", Shape::kCpu, Technique::kZero1},
                      Case{"zero2_gpu", Shape::kGpu, Technique::kZero2},
                      Case{"zero3_cpu", Shape::kCpu, Technique::kZero3},
                      Case{"zero3_gpu", Shape::kGpu, Technique::kZero3},
                      Case{"pipeline_cpu", Shape::kCpu, Technique::kPipeline},
                      Case{"pipeline_gpu", Shape::kGpu, Technique::kPipeline},
                      Case{"server_cpu", Shape::kCpu, Technique::kParameterServer},
                      Case{"server_gpu", Shape::kGpu, Technique::kParameterServer},
                      Case{"tensor_cpu", Shape::kCpu, Technique::kTensorData, 8},
                      Case{"tensor_gpu", Shape::kGpu, Technique::kTensorData, 8}),
    [](const auto& one) { return std::string(one.param.name); });

// Operators that begin while a collective runs take longer, the others do not.
TEST(Contention, SlowsOnlyWhatRunsBesideACollective) {
  Spec spec;
  spec.noise = 0;
  spec.rank_noise = 0;
  spec.steps = 5;
  const Result<Truth> alone = execute(spec);
  spec.contention = 1.5;
  const Result<Truth> contended = execute(spec);
  ASSERT_TRUE(alone.ok() && contended.ok());
  const auto sums = [](const Truth& truth, Category category) {
    return truth.ranks[1].steps[3].category_ns[static_cast<size_t>(category)];
  };
  EXPECT_EQ(sums(*alone, Category::kForward), sums(*contended, Category::kForward));
  EXPECT_GT(sums(*contended, Category::kOverlapped) + sums(*contended, Category::kBackward),
            sums(*alone, Category::kOverlapped) + sums(*alone, Category::kBackward) + 500'000);
}

}  // namespace
}  // namespace dprof::synth
