// SPDX-License-Identifier: Apache-2.0
#include "tests/support/spec_json.h"

#include <gtest/gtest.h>

namespace dprof::test_support {
namespace {

TEST(SpecJson, ReadsFieldsByName) {
  const Result<RunSpec> spec = spec_from_json(nlohmann::json::parse(R"({
      "ranks": 4, "marks": "optimizer", "noise": 0.5, "absent": [3], "kill": {"rank": 1, "step": 2},
      "delays": [{"rank": 2, "phase": "input", "ns": 5, "every": 10, "form": "host"}]})"));
  ASSERT_TRUE(spec.ok()) << spec.error().what;
  EXPECT_EQ(spec->ranks, 4);
  EXPECT_EQ(spec->marks, StepMarks::kOptimizer);
  EXPECT_EQ(spec->noise, 0.5);
  EXPECT_EQ(spec->absent, std::vector<int>{3});
  EXPECT_EQ(spec->kill.value().step, 2);
  ASSERT_EQ(spec->delays.size(), 1u);
  EXPECT_EQ(spec->delays[0].phase, Phase::kInput);
  EXPECT_EQ(spec->delays[0].every, 10);
  EXPECT_EQ(spec->delays[0].form, DelayForm::kHost);
  EXPECT_EQ(spec->steps, RunSpec().steps);
}

TEST(SpecJson, RefusesWhatItDoesNotKnow) {
  for (const char* text : {R"({"rank": 4})", R"({"marks": "some"})", R"({"ranks": "four"})",
                           R"({"delays": [{"phases": "input"}]})"}) {
    EXPECT_FALSE(spec_from_json(nlohmann::json::parse(text)).ok()) << text;
  }
}

}  // namespace
}  // namespace dprof::test_support
