// SPDX-License-Identifier: Apache-2.0
// Findings that a healthy generated run must not have, and what they say of a single pause.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "tests/generated/generated_run.h"

namespace dprof {
namespace {

using synth::Shape;
using synth::Technique;

struct HealthyCase {
  const char* name;
  Shape shape;
  Technique technique;
};

class HealthyKernelsTest : public ::testing::TestWithParam<HealthyCase> {};

// How kernels are named and ordered in a healthy run is the generator's: a rule that
// reports it is wrong, or the generator is.
TEST_P(HealthyKernelsTest, NothingIsWrongWithKernelsOrTheirOrder) {
  synth::Spec spec;
  spec.ranks = 4;
  spec.steps = 40;
  spec.shape = GetParam().shape;
  spec.technique = GetParam().technique;
  const Outcome outcome = analysed(spec);
  ASSERT_TRUE(outcome.analysis.report.findings);
  for (const analyzer::Finding& finding : *outcome.analysis.report.findings) {
    EXPECT_FALSE(finding.rule.starts_with("compute.")) << finding.rule << ": " << finding.detail;
    for (const std::string_view rule :
         {"comm.blocking-wait", "comm.bucket-copies", "host.false-dependency"})
      EXPECT_NE(finding.rule, rule) << finding.title << ": " << finding.detail;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, HealthyKernelsTest,
    ::testing::Values(HealthyCase{"cpu_ddp", Shape::kCpu, Technique::kDdp},
                      HealthyCase{"gpu_ddp", Shape::kGpu, Technique::kDdp},
                      HealthyCase{"gpu_zero3", Shape::kGpu, Technique::kZero3},
                      HealthyCase{"gpu_tensor_data", Shape::kGpu, Technique::kTensorData},
                      HealthyCase{"gpu_pipeline", Shape::kGpu, Technique::kPipeline}),
    [](const auto& test) { return std::string(test.param.name); });

// It is nobody's lasting fault, and yet most of the time that is lost.
TEST(WaitingTest, ASinglePauseIsNamedWithItsStepAndRank) {
  synth::Spec spec;
  spec.ranks = 3;
  spec.steps = 40;
  spec.faults = {{.name = "sleep-forward", .rank = 2, .ms = 900, .from = 25, .to = 26}};
  const Outcome outcome = analysed(spec);
  ASSERT_TRUE(outcome.analysis.report.findings);
  const auto& findings = *outcome.analysis.report.findings;
  const auto waiting = std::ranges::find(findings, "balance.waiting", &analyzer::Finding::rule);
  ASSERT_NE(waiting, findings.end());
  EXPECT_THAT(waiting->detail,
              ::testing::HasSubstr("most of it is in step 25, where rank 2 came 9"));
}

}  // namespace
}  // namespace dprof
