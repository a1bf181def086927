// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/settings/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace dprof::trainer_harness {
namespace {

using ::testing::HasSubstr;

TEST(Catalogue, HasEveryMistakeOnceAndInOrder) {
  ASSERT_EQ(mistake_rows().size(), 24U);
  for (size_t i = 0; i < mistake_rows().size(); ++i) {
    const MistakeRow& row = mistake_rows()[i];
    EXPECT_EQ(row.id, "M" + std::to_string(i + 1));
    EXPECT_NE(row.option.empty(), row.word.empty()) << row.id << ": one way to make it";
    EXPECT_EQ(row.word.empty(), row.mistake == Mistake::kNone) << row.id;
    EXPECT_FALSE(row.about.empty() || row.rule.empty()) << row.id;
  }
}

TEST(Catalogue, HasEveryTechnique) { EXPECT_EQ(technique_rows().size(), 53U); }

TEST(Catalogue, NamesAreFoundByKind) {
  for (const StrategyRow& row : strategy_rows()) EXPECT_EQ(strategy_word(row.kind), row.word);
}

TEST(Catalogue, ListFitsAHundredColumnsAndLeavesNothingOut) {
  const std::string text = list_text({{"toy", "Linear(3, 1)"}, {"convnet", "two convolutions"}},
                                     "a token bucket, and netem for delay and loss");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
  for (const StrategyRow& row : strategy_rows()) EXPECT_THAT(text, HasSubstr(row.word));
  for (const TechniqueRow& row : technique_rows()) EXPECT_THAT(text, HasSubstr(row.name));
  for (const FaultRow& row : fault_catalogue()) EXPECT_THAT(text, HasSubstr(row.name));
  for (const MistakeRow& row : mistake_rows()) EXPECT_THAT(text, HasSubstr(row.rule));
  EXPECT_LT(text.find("  convnet"), text.find("  toy")) << "sorted";
  EXPECT_THAT(text, HasSubstr("here: a token bucket"));
}

}  // namespace
}  // namespace dprof::trainer_harness
