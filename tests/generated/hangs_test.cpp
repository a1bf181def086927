// SPDX-License-Identifier: Apache-2.0
// Every hang that synth knows, written as traces and found by the whole analysis: exactly the
// culprits of its truth. And runs with lost records and cut traces, in which nothing hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "synth/faults/catalogue.h"
#include "tests/generated/generated_run.h"

namespace dprof {
namespace {

using synth::Shape;

synth::Spec small_hang(Shape shape) {
  synth::Spec spec;
  spec.ranks = 8;
  spec.hosts = 2;
  spec.steps = 12;
  spec.shape = shape;
  return spec;
}

struct HangCase {
  std::string name;
  Shape shape;
};
void PrintTo(const HangCase& one, std::ostream* out) { *out << one.name; }

std::vector<HangCase> all_hangs() {
  std::vector<HangCase> cases;
  for (const synth::FaultKind& kind : synth::catalogue()) {
    if (kind.family != synth::Family::kHang) continue;
    cases.push_back({std::string(kind.name), Shape::kGpu});
    if (!kind.gpu_only) cases.push_back({std::string(kind.name), Shape::kCpu});
  }
  return cases;
}

class GeneratedHangTest : public ::testing::TestWithParam<HangCase> {};

TEST_P(GeneratedHangTest, CulpritsAreExactlyThose) {
  synth::Spec spec = small_hang(GetParam().shape);
  spec.faults = {{.name = GetParam().name}};
  const Outcome outcome = analysed(spec);
  ASSERT_EQ(outcome.truth.hang, GetParam().name);
  ASSERT_TRUE(outcome.analysis.report.hang);
  const analyzer::Hang& hang = *outcome.analysis.report.hang;
  EXPECT_EQ(hang.culprits, outcome.truth.culprits) << hang.state << ": " << hang.reason;
  EXPECT_FALSE(hang.reason.empty());
}

INSTANTIATE_TEST_SUITE_P(Hangs, GeneratedHangTest, ::testing::ValuesIn(all_hangs()),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name + (test.param.shape == Shape::kCpu ? "_cpu" : "_gpu");
                         });

// 1 % of the records are lost, one rank's trace ends early: nobody is accused, and no collective is
// said to be different.
class GeneratedLossTest : public ::testing::TestWithParam<Shape> {};

TEST_P(GeneratedLossTest, LostRecordsAccuseNobody) {
  synth::Spec spec = small_hang(GetParam());
  spec.steps = 30;
  spec.faults = {{.name = "drop", .probability = 0.01}};
  const Outcome outcome = analysed(spec);
  EXPECT_GT(outcome.truth.dropped_records, 0);
  EXPECT_FALSE(outcome.analysis.report.hang);
  int64_t complete = 0;
  for (const analyzer::MatchedCollective& one : outcome.analysis.collectives)
    complete += one.complete ? 1 : 0;
  // Each lost record leaves one collective incomplete, and no more.
  const auto all = static_cast<int64_t>(outcome.analysis.collectives.size());
  EXPECT_GE(complete, all - outcome.truth.dropped_records);
  for (const analyzer::Diagnostic& d : outcome.analysis.report.recording.diagnostics)
    EXPECT_NE(d.code, "collective_mismatch") << d.text;
}

TEST_P(GeneratedLossTest, TraceThatEndsEarlyIsNoHang) {
  synth::Spec spec = small_hang(GetParam());
  spec.faults = {{.name = "truncate", .rank = 3, .from = 8}};
  EXPECT_FALSE(analysed(spec).analysis.report.hang);
}

INSTANTIATE_TEST_SUITE_P(Shapes, GeneratedLossTest, ::testing::Values(Shape::kCpu, Shape::kGpu),
                         [](const auto& test) { return std::string(synth::word_of(test.param)); });

}  // namespace
}  // namespace dprof
