// SPDX-License-Identifier: Apache-2.0
#include "gui/view/drawing/draw_list.h"

#include <gtest/gtest.h>

namespace dprof::view {
namespace {

using analyzer::Category;

TEST(DrawList, IsWrittenOneCommandPerLine) {
  DrawList list;
  list.clip({0, 0, 500, 200});
  list.rect({412, 96, 37, 16}, role_of(Category::kForward),
            {.table = "host_range", .rank = 5, .row = 81234});
  list.rect({449, 96, 3, 16}, role_of(Category::kExposedTransfer), {.folded = 118});
  list.hatch({452, 96, 61, 16}, role_of(Category::kExposedWait));
  list.text({416, 96, 29, 16}, "sgemm_128x…",
            {.role = role_of(Category::kForward), .on_fill = true});
  const Point points[] = {{1, 2}, {3, 4}};
  list.polyline(points, Role::kProblem, true, 2);
  list.line({0, 5}, {10, 5}, Role::kBorder);
  list.frame({1, 2, 3, 4}, Role::kAccent);
  list.unclip();
  EXPECT_EQ(to_text(list),
            "clip 0 0 500 200\n"
            "rect 412 96 37 16 category:forward row:5/host_range/81234\n"
            "rect 449 96 3 16 category:exposed_transfer folded:118\n"
            "hatch 452 96 61 16 category:exposed_wait\n"
            "text 416 96 29 on:category:forward \"sgemm_128x…\"\n"
            "polyline 1,2 3,4 problem\n"
            "line 0 5 10 5 border\n"
            "frame 1 2 3 4 accent\n"
            "unclip\n");
}

TEST(DrawList, AppendingMovesEverything) {
  DrawList inner;
  inner.text({1, 1, 9, 9}, "inner");
  const Point points[] = {{1, 2}, {3, 4}};
  inner.polyline(points, Role::kProblem, false, 1);
  const uint8_t levels[] = {0, 255};
  inner.image({0, 0, 2, 1}, levels, Role::kUtilisation);
  DrawList outer;
  outer.text({0, 0, 9, 9}, "outer");
  outer.polyline(points, Role::kAccent, false, 1);
  outer.image({0, 0, 1, 1}, std::span(levels).first(1), Role::kUtilisation);
  outer.append(inner, {10, 20});
  const std::string text = to_text(outer);
  EXPECT_NE(text.find("text 11 21 9 text \"inner\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("polyline 11,22 13,24 problem\n"), std::string::npos) << text;
  const Command& image = outer.commands().back();
  EXPECT_EQ(image.box, (Box{10, 20, 2, 1}));
  EXPECT_EQ(outer.levels_of(image)[1], 255);
}

TEST(DrawList, ElidesBetweenLetters) {
  const FixedTextMeasure measure;  // 7 pixels a letter
  EXPECT_EQ(elided("forward", 49, Font::kLabel, measure), "forward");
  EXPECT_EQ(elided("forward", 48, Font::kLabel, measure), "forwa…");
  EXPECT_EQ(elided("forward", 14, Font::kLabel, measure), "f…");
  EXPECT_EQ(elided("forward", 13, Font::kLabel, measure), "");
  EXPECT_EQ(elided("größer als", 35, Font::kLabel, measure), "größ…");
  EXPECT_EQ(elided("", 0, Font::kLabel, measure), "");
}

TEST(DrawList, WrapsAtSpaces) {
  const FixedTextMeasure measure;
  EXPECT_EQ(wrapped("one two three", 7 * 7, Font::kBody, measure),
            (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrapped("incomprehensible", 7 * 7, Font::kBody, measure),
            (std::vector<std::string>{"incomp…"}));
  EXPECT_TRUE(wrapped("  ", 70, Font::kBody, measure).empty());
}

}  // namespace
}  // namespace dprof::view
