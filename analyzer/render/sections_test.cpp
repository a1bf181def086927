// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dprof::analyzer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Sections, AreNamedInAnyOrderAndComeInTheReports) {
  const Result<std::vector<Section>> some = parse_sections("links,ranks,links");
  ASSERT_TRUE(some.ok());
  EXPECT_THAT(*some, ElementsAre(Section::kRanks, Section::kLinks));
  EXPECT_THAT(*parse_sections("all"), SizeIs(kSections));
  EXPECT_THAT(*parse_sections("none"), IsEmpty());
}

TEST(Sections, EachHasAWordOfItsOwn) {
  const Result<std::vector<Section>> all = parse_sections("all");
  ASSERT_TRUE(all.ok());
  for (const Section section : *all) {
    const Result<std::vector<Section>> one = parse_sections(word_of(section));
    ASSERT_TRUE(one.ok()) << word_of(section);
    EXPECT_THAT(*one, ElementsAre(section));
  }
}

TEST(Sections, AnUnknownNameIsAUsageErrorThatListsThem) {
  for (const char* wrong : {"", "nonsense", "ranks,", "ranks,,links", "ranks links", "all,ranks"}) {
    const Result<std::vector<Section>> none = parse_sections(wrong);
    ASSERT_FALSE(none.ok()) << wrong;
    EXPECT_EQ(none.error().code, Code::kUsage);
    EXPECT_THAT(none.error().hint, HasSubstr("ranks,phases,"));
  }
}

}  // namespace
}  // namespace dprof::analyzer
