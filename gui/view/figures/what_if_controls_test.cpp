// SPDX-License-Identifier: Apache-2.0
// The controls of the page What if, and their effects.
#include "gui/view/figures/what_if_controls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "gui/view/model/test_support/path_model.h"

namespace dprof::view {
namespace {

using test::kJobMs;
using ::testing::HasSubstr;

class WhatIfControlsTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Model> model = test::path_model();
  std::vector<WhatIfControl> controls = what_if_controls(*model->what_if, {2});
};

// The analyser understands every change that can be chosen, and each subject of its grammar is
// offered (hosts if there are several).
TEST_F(WhatIfControlsTest, AllTheGrammarIsOffered) {
  std::set<analyzer::Subject> subjects;
  for (const WhatIfControl& control : controls) {
    ASSERT_LT(control.tried, control.stops.size()) << control.label;
    EXPECT_FALSE(control.stops[control.tried].change.empty()) << control.label;
    size_t as_recorded = 0;
    for (const WhatIfStop& stop : control.stops) {
      if (stop.change.empty()) {
        ++as_recorded;
        continue;
      }
      const Result<analyzer::Change> change = analyzer::parse_change(stop.change);
      ASSERT_TRUE(change.ok()) << stop.change;
      subjects.insert(change->subject);
    }
    EXPECT_EQ(as_recorded, 1U) << control.label;
  }
  EXPECT_EQ(subjects.size(), analyzer::kSubjects - 1) << "all but hosts: there is one";
}

TEST_F(WhatIfControlsTest, TheStopThatHoldsIsFound) {
  const auto transfers = std::ranges::find(controls, "transfers", &WhatIfControl::label);
  ASSERT_NE(transfers, controls.end());
  EXPECT_EQ(transfers->stop_in({}), 0U);
  EXPECT_EQ(transfers->stops[transfers->stop_in({"input=0", "transfer*0.5"})].label, "× 0.5");
  const auto bandwidth = std::ranges::find(controls, "bandwidth", &WhatIfControl::label);
  ASSERT_NE(bandwidth, controls.end());
  EXPECT_EQ(bandwidth->stop_in({}), 1U) << "half of it is on the other side";
}

TEST_F(WhatIfControlsTest, TrialsAnswerOrSayWhyNot) {
  const WhatIfTrials trials = trials_of(*model->what_if, {"transfer=0", "input=0", "rank:9=peers"});
  ASSERT_NE(trial_of(trials, "transfer=0"), nullptr);
  EXPECT_EQ(trial_of(trials, "transfer=0")->answer->gain_ns, 4 * kJobMs);
  EXPECT_THAT(trial_of(trials, "input=0")->answer->refused, HasSubstr("waits for data"));
  EXPECT_TRUE(trial_of(trials, "rank:9=peers")->error);
  EXPECT_EQ(trial_of(trials, "latency=0"), nullptr);
}

TEST_F(WhatIfControlsTest, ACommandLineIsQuotedForAShell) {
  EXPECT_EQ(what_if_command("runs/a", {"input=0", "rank:1*0.8"}),
            "dprof report runs/a --what-if input=0 --what-if 'rank:1*0.8' --sections what-if");
  EXPECT_EQ(what_if_command("my run's", {}), "dprof report 'my run'\\''s' --sections what-if");
}

}  // namespace
}  // namespace dprof::view
