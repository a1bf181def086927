// SPDX-License-Identifier: Apache-2.0
#include "analyzer/check/settings.h"

#include <gmock/gmock.h>

namespace dprof::analyzer {
namespace {

using ::testing::HasSubstr;

TEST(CheckSettings, ReadsWhatTheDocumentationShows) {
  const Result<CheckSettings> read = parse_check_settings(R"(
max_slowdown = "3%"
fail_on = "warn"

[budgets]
step_ms = 65
exposed_communication_share = 0.15
input_wait_share = "2 %"
peak_memory = "12 GB"
stragglers = "none"
lost_records = 0

[phases]
forward = 20.5

[phase.backward]
ms = 41

[range."aten::mm"]
own_ms = 3.5
calls = 12

[range.load_batch]

[rules."comm.exposed-transfer"]
enabled = false

[rules.step_time]
severity = "warn"

[[waivers]]
rule = "balance.straggler"
reason = "its disk is being replaced"
expires = 2026-12-31
)",
                                                          "dprof-check.toml");
  ASSERT_TRUE(read.ok()) << read.error().what;
  EXPECT_DOUBLE_EQ(*read->max_slowdown, 0.03);
  EXPECT_EQ(read->fail_on, FindingSeverity::kWarn);
  EXPECT_DOUBLE_EQ(*read->budgets.step_ms, 65);
  EXPECT_DOUBLE_EQ(*read->budgets.exposed_communication_share, 0.15);
  EXPECT_DOUBLE_EQ(*read->budgets.input_wait_share, 0.02);
  EXPECT_EQ(read->budgets.peak_memory, 12'000'000'000);
  EXPECT_TRUE(read->budgets.no_stragglers);
  EXPECT_EQ(read->budgets.lost_records, 0);
  EXPECT_DOUBLE_EQ(*read->budgets.phases.at("forward").ms, 20.5);
  EXPECT_DOUBLE_EQ(*read->budgets.phases.at("backward").ms, 41);
  EXPECT_FALSE(read->budgets.ranges.at("aten::mm").ms);
  EXPECT_DOUBLE_EQ(*read->budgets.ranges.at("aten::mm").own_ms, 3.5);
  EXPECT_DOUBLE_EQ(*read->budgets.ranges.at("aten::mm").calls, 12);
  EXPECT_TRUE(read->budgets.ranges.contains("load_batch"));
  EXPECT_FALSE(read->rules.at("comm.exposed-transfer").enabled);
  EXPECT_EQ(read->rules.at("step_time").severity, FindingSeverity::kWarn);
  ASSERT_EQ(read->waivers.size(), 1U);
  EXPECT_EQ(day_text(read->waivers[0].expires), "2026-12-31");
}

TEST(CheckSettings, AnEmptyFileAsksForNothing) {
  const Result<CheckSettings> read = parse_check_settings("", "f");
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->max_slowdown);
  EXPECT_EQ(read->fail_on, FindingSeverity::kCritical);
}

struct BadSettings {
  const char* text;
  const char* says;
  const char* hint = "";
};

// Issue 25: each has its own sentence, with the line; the nearest key is named.
TEST(CheckSettings, MistakesAreSaidWithTheirLine) {
  for (const BadSettings& c : {
           BadSettings{"\n\nmax_slodown = 0.03", "f:3: unknown key 'max_slodown'",
                       "did you mean 'max_slowdown'?"},
           BadSettings{"[budgets]\nstep_msec = 3", "f:2: unknown key 'step_msec' in [budgets]",
                       "did you mean 'step_ms'?"},
           BadSettings{"[budgets]\nstep_ms = -3", "f:2: step_ms cannot be negative"},
           BadSettings{"[budgets]\nlost_records = -1", "f:2: lost_records cannot be negative"},
           BadSettings{"[budgets]\npeak_memory = \"-1 GB\"", "f:2: peak_memory cannot be negative"},
           BadSettings{"[budgets]\npeak_memory = \"much\"", "f:2: peak_memory is a size"},
           BadSettings{"[budgets]\nstep_ms = \"3\"", "f:2: step_ms is a number"},
           BadSettings{"[budgets]\ninput_wait_share = 15", "f:2: input_wait_share is a share",
                       "\"15%\""},
           BadSettings{"max_slowdown = \"-3%\"", "f:1: max_slowdown cannot be negative"},
           BadSettings{"[budgets]\nstragglers = 3", "f:2: stragglers can only be \"none\""},
           BadSettings{"fail_on = \"never\"", "f:1: a severity is"},
           BadSettings{"[rules.\"balance.stragler\"]\nenabled = false",
                       "f:1: unknown rule 'balance.stragler'", "did you mean 'balance.straggler'?"},
           BadSettings{"[rules.step_time]\nenabeld = false", "f:2: unknown key 'enabeld'",
                       "did you mean 'enabled'?"},
           BadSettings{"[phase.forward]\nmss = 3", "f:2: unknown key 'mss' in [phase.\"forward\"]",
                       "did you mean 'ms'?"},
           BadSettings{"[range.\"a b\"]\nown = 3", "f:2: unknown key 'own' in [range.\"a b\"]",
                       "known are ms, own_ms, calls"},
           BadSettings{"[range.a]\ncalls = -3", "f:2: calls cannot be negative"},
           BadSettings{"[phase]\nforward = 3", "f:2: a phase is a table: [phase.\"forward\"]"},
           BadSettings{"[ranges.a]\nms = 3", "f:1: unknown key 'ranges'", "did you mean 'range'?"},
           BadSettings{"[[waivers]]\nrule = \"step_time\"", "f:1: a waiver has rule, reason"},
           BadSettings{"waivers = 3", "f:1: waivers are a list"},
           BadSettings{"budgets = 3", "f:1: budgets is a table"},
           BadSettings{"a = \n", "f:1: "},
       }) {
    const Result<CheckSettings> read = parse_check_settings(c.text, "f");
    ASSERT_FALSE(read.ok()) << c.text;
    EXPECT_EQ(read.error().code, Code::kUsage) << c.text;
    EXPECT_THAT(read.error().what, HasSubstr(c.says));
    EXPECT_THAT(read.error().hint, HasSubstr(c.hint)) << c.text;
  }
}

}  // namespace
}  // namespace dprof::analyzer
