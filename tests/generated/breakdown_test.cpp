// SPDX-License-Identifier: Apache-2.0
// Where the time of generated runs went, category by category, against what is true of them; and
// the contention that they were given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/generated/generated_run.h"

namespace dprof {
namespace {

using analyzer::Category;
using analyzer::CategoryNs;
using analyzer::kCategories;
using synth::Shape;
using synth::Technique;

// The categories of a rank over the steps first to last, both included.
CategoryNs true_sums(const synth::RankTruth& rank, int64_t first, int64_t last) {
  CategoryNs sums{};
  for (const synth::StepTruth& step : rank.steps) {
    if (step.index < first || step.index > last) continue;
    for (size_t c = 0; c < kCategories; ++c) sums[c] += step.category_ns[c];
  }
  return sums;
}

struct BreakdownCase {
  Shape shape;
  Technique technique;
};
void PrintTo(const BreakdownCase& one, std::ostream* out) {
  *out << word_of(one.shape) << ' ' << word_of(one.technique);
}

// How far a category may be from the truth over all steady steps, ns.
struct Tolerance {
  int64_t less = 1000;
  int64_t more = 1000;
};

constexpr int64_t kSpreadNs =
    5'000;                         // of the ends of a collective: where waiting ends is no better
constexpr double kBetween = 0.06;  // of the step, at most: Python between operators of a phase

Tolerance tolerance_of(Shape shape, Category category, int64_t steps, int64_t collectives,
                       int64_t wall_ns) {
  const int64_t border = steps * collectives * kSpreadNs;
  const auto between = static_cast<int64_t>(kBetween * static_cast<double>(wall_ns));
  const bool exposed = category == Category::kExposedWait || category == Category::kExposedTransfer;
  if (shape == Shape::kGpu) {
    if (exposed) return {border, border};
    // The last step's window ends where its last activity begins.
    return category == Category::kCopy ? Tolerance{2000, 1000} : Tolerance{};
  }
  switch (category) {
    // On the CPU all of a marked phase is that phase's computation; the truth knows what Python did
    // between its operators, with a collective beside it or without.
    case Category::kForward:
    case Category::kBackward:
    case Category::kOverlapped:
      return {1000, between};
    case Category::kHost:
    case Category::kExposedTransfer:
      return {between + border, border};
    case Category::kExposedWait:
      return {between + border, border};
    case Category::kDependency:  // waking up after the last collective
      return {1000, steps * 100'000};
    default:
      return {};
  }
}

class GeneratedBreakdownTest : public ::testing::TestWithParam<BreakdownCase> {};

TEST_P(GeneratedBreakdownTest, EachCategoryOfEachRankIsTheTrueOne) {
  synth::Spec spec;
  spec.ranks = 4;
  spec.hosts = 2;
  spec.steps = 12;
  spec.shape = GetParam().shape;
  spec.technique = GetParam().technique;
  const Outcome outcome = analysed(spec);
  const analyzer::Report& report = outcome.analysis.report;
  ASSERT_TRUE(report.breakdown && report.run.steps);
  const analyzer::StepsInfo& steps = *report.run.steps;
  ASSERT_EQ(report.breakdown->per_rank.size(), 4U);
  for (const analyzer::RankBreakdown& rank : report.breakdown->per_rank) {
    const CategoryNs truth = true_sums(outcome.truth.ranks[static_cast<size_t>(rank.rank)],
                                       steps.first_steady, steps.last_steady);
    int64_t wall = 0;
    for (size_t c = 0; c < kCategories; ++c) {
      const auto category = static_cast<Category>(c);
      const Tolerance tolerance = tolerance_of(
          spec.shape, category, steps.steady,
          static_cast<int64_t>(outcome.truth.collectives.size()) / spec.steps, rank.wall_ns);
      EXPECT_GE(rank.category_ns[c], truth[c] - tolerance.less) << rank.rank << key_of(category);
      EXPECT_LE(rank.category_ns[c], truth[c] + tolerance.more) << rank.rank << key_of(category);
      wall += truth[c];
    }
    EXPECT_NEAR(static_cast<double>(rank.wall_ns), static_cast<double>(wall), 2000.0);
  }
}

std::vector<BreakdownCase> all_cases() {
  std::vector<BreakdownCase> cases;
  for (const Shape shape : {Shape::kCpu, Shape::kGpu}) {
    for (const Technique technique :
         {Technique::kDdp, Technique::kZero1, Technique::kZero2, Technique::kZero3,
          Technique::kPipeline, Technique::kParameterServer, Technique::kTensorData})
      cases.push_back({shape, technique});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Shapes, GeneratedBreakdownTest, ::testing::ValuesIn(all_cases()),
                         [](const auto& test) {
                           std::string name(word_of(test.param.shape));
                           name += '_';
                           name += word_of(test.param.technique);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// --- contention ---

synth::Spec gpu_run(double contention, double of_transfers) {
  synth::Spec spec;
  spec.ranks = 4;
  spec.steps = 40;
  spec.shape = Shape::kGpu;
  spec.rows_per_step = 417;  // each bucket has as many kernels of backward: they are equally long
  spec.buckets = 8;          // the last one, which is exposed, is as large as one that is hidden
  spec.hosts = 2;
  spec.network.bandwidth_gb_s = 5;
  spec.contention = contention;
  spec.transfer_contention = of_transfers;
  return spec;
}

TEST(GeneratedContentionTest, OfKernelsIsTheFactorOfTheRun) {
  for (const double factor : {1.0, 1.2, 1.5}) {
    SCOPED_TRACE(factor);
    const Outcome outcome = analysed(gpu_run(factor, 1));
    const auto& contention = outcome.analysis.report.contention;
    ASSERT_TRUE(contention);
    EXPECT_TRUE(contention->of_kernels);
    EXPECT_NEAR(contention->factor, factor, 0.02 * factor);
    EXPECT_GE(contention->operators, 3);
    if (factor == 1) {
      EXPECT_NEAR(static_cast<double>(contention->hidden_cost_ns), 0, 1e6);
    } else {
      EXPECT_GT(contention->hidden_cost_ns, 0);
    }
  }
}

TEST(GeneratedContentionTest, OfTransfersIsTheFactorOfTheRun) {
  for (const double factor : {1.0, 1.3}) {
    SCOPED_TRACE(factor);
    const Outcome outcome = analysed(gpu_run(1.1, factor));
    const auto& contention = outcome.analysis.report.contention;
    ASSERT_TRUE(contention && contention->transfer_factor);
    EXPECT_NEAR(*contention->transfer_factor, factor, 0.03 * factor);
    EXPECT_NEAR(contention->factor, 1.1, 0.03);
  }
}

}  // namespace
}  // namespace dprof
