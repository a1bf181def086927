// SPDX-License-Identifier: Apache-2.0
#include "gui/view/script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dprof::view {
namespace {

using ::testing::HasSubstr;

TEST(Script, LinesCommentsAndBlanks) {
  const auto script = parse_script(
      "# a comment\n\n"
      "view heatmap\n"
      "  select finding:1   # the most expensive\r\n"
      "select name:a#b\n"
      "key F F\n"
      "sql SELECT 1 -- a comment of its own\n"
      "wait-idle\n"
      "what-if rank:1*0.8\n"
      "why\n"
      "assert selection.ranks == [5]");
  ASSERT_TRUE(script.ok());
  ASSERT_EQ(script->size(), 9U);
  EXPECT_EQ((*script)[0].verb, ScriptVerb::kView);
  EXPECT_EQ((*script)[0].number, 3);
  EXPECT_EQ((*script)[1].argument, "finding:1");
  EXPECT_EQ((*script)[2].argument, "name:a#b");
  EXPECT_EQ((*script)[3].argument, "F F");
  EXPECT_EQ((*script)[4].verb, ScriptVerb::kSql);
  EXPECT_EQ((*script)[4].argument, "SELECT 1 -- a comment of its own");
  EXPECT_EQ((*script)[6].verb, ScriptVerb::kWhatIf);
  EXPECT_EQ((*script)[6].argument, "rank:1*0.8");
  EXPECT_EQ((*script)[7].verb, ScriptVerb::kWhy);
  EXPECT_EQ((*script)[8].argument, "selection.ranks == [5]");
}

TEST(Script, ErrorsNameTheLine) {
  for (const char* wrong : {"view nowhere", "zoom 3", "select", "assert a", "assert a ~ 3",
                            "what-if", "what-if nothing=0"}) {
    const auto script = parse_script(std::string("view table\n") + wrong);
    ASSERT_FALSE(script.ok()) << wrong;
    EXPECT_EQ(script.error().code, Code::kUsage);
    EXPECT_THAT(script.error().what, HasSubstr("line 2"));
  }
}

TEST(Script, AssertionsOnAState) {
  const std::string state =
      R"({"page": "timeline", "selection": {"ranks": [2, 5], "events": 98}, "rows": [{"track": "rank:5"}], "hover": null})";
  for (const char* holds :
       {"page == timeline", "page == \"timeline\"", "selection.ranks == [2,5]",
        "selection.ranks contains 5", "selection.events > 90", "selection.events <= 98",
        "rows.0.track contains rank", "hover == null", "page != heatmap"})
    EXPECT_EQ(failed_assertion(state, holds), "") << holds;
  EXPECT_THAT(failed_assertion(state, "selection.events < 98"), HasSubstr("it is 98"));
  EXPECT_THAT(failed_assertion(state, "selection.ranks contains 7"), HasSubstr("[2,5]"));
  for (const char* absent :
       {"rows.1.track == x", "rows.x == 1", "nothing == 1", "page.deeper == 1"})
    EXPECT_THAT(failed_assertion(state, absent), HasSubstr("the state has no")) << absent;
  EXPECT_NE(failed_assertion("not JSON", "page == timeline"), "");
}

}  // namespace
}  // namespace dprof::view
