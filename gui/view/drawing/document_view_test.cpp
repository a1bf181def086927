// SPDX-License-Identifier: Apache-2.0
#include "gui/view/drawing/document_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dprof::view {
namespace {

using analyzer::Document;
using analyzer::Style;
using ::testing::HasSubstr;

std::string drawn(const Document& document, int width = 600) {
  DrawList list;
  const FixedTextMeasure measure;
  draw_document(document, {10, 20}, width, measure, list);
  return to_text(list);
}

TEST(DocumentView, SaysEveryBlock) {
  analyzer::FactList facts;
  facts.facts.push_back({"step time", {{"1.0 → 2.0 ms   "}, {"slower", Style::kBad}}});
  analyzer::Table table;
  table.add_columns(analyzer::Align::kLeft, {"part"});
  table.add_columns(analyzer::Align::kRight, {"change"});
  table.add_row({"forward", "+1.0"});
  analyzer::List list;
  list.items.push_back({.text = "world size: 2 → 4", .mark = "!"});
  const Document document{{facts, analyzer::Heading{.title = "WHERE IT IS", .remark = "in ms"},
                           table, list, analyzer::Paragraph{.text = "and more"},
                           analyzer::Commands{{"dprof diff a b"}},
                           analyzer::Fold{.summary = "folded", .inside = {{list}}}}};
  const std::string text = drawn(document);
  for (const char* said : {"step time", "slower", "Where it is", "in ms", "part", "forward", "+1.0",
                           "world size: 2 → 4", "and more", "dprof diff a b", "folded"})
    EXPECT_THAT(text, HasSubstr(said));
}

TEST(DocumentView, ABarIsDrawnAndNotWritten) {
  analyzer::Table table;
  table.add_columns(analyzer::Align::kLeft, {"", ""});
  table.rows.push_back({{"forward"}, {"██▌", Style::kBad}});
  DrawList list;
  const FixedTextMeasure measure;
  draw_document({{table}}, {0, 0}, 600, measure, list);
  EXPECT_THAT(to_text(list), ::testing::Not(HasSubstr("█")));
  const auto commands = list.commands();
  const auto bar = std::ranges::find(commands, CommandKind::kRect, &Command::kind);
  ASSERT_NE(bar, commands.end());
  EXPECT_EQ(bar->box.w, 20);
  EXPECT_EQ(bar->role, Role::kProblem);
}

TEST(DocumentView, WhatIsTooWideIsWrapped) {
  DrawList list;
  const FixedTextMeasure measure;
  const Document one{{analyzer::Paragraph{.text = "one two three four five six seven eight"}}};
  const int narrow = draw_document(one, {0, 0}, 100, measure, list);
  const int wide = draw_document(one, {0, 0}, 2000, measure, list);
  EXPECT_GT(narrow, wide);
}

}  // namespace
}  // namespace dprof::view
