// SPDX-License-Identifier: Apache-2.0
#include "analyzer/render/writers.h"

#include <gtest/gtest.h>

namespace dprof::analyzer {
namespace {

std::string text_of(Block block, size_t width = 100, bool colour = false) {
  return write_text({{std::move(block)}}, {.width = width, .colour = colour});
}
std::string markdown_of(Block block) { return write_markdown({{std::move(block)}}); }

Table sample_table() {
  Table table;
  table.add_columns(Align::kLeft, {"name"});
  table.add_columns(Align::kRight, {"n"});
  table.add_columns(Align::kLeft, {""});
  table.add_row({"µ", "1", ""});
  table.add_row({"all_reduce", "1,234", "mark"});
  return table;
}

TEST(Writers, TablesAlignAndEndWithoutBlanks) {
  EXPECT_EQ(text_of(sample_table()),
            "  name            n\n"
            "  µ               1\n"
            "  all_reduce  1,234  mark\n");
  EXPECT_EQ(text_width(sample_table()), 25u);
  EXPECT_EQ(markdown_of(sample_table()),
            "| name | n |  |\n"
            "| --- | ---: | --- |\n"
            "| µ | 1 |  |\n"
            "| all\\_reduce | 1,234 | mark |\n");
}

TEST(Writers, AColumnHasACellForEachThing) {
  Table table{"rank"};
  table.add_row({"3"});
  table.add_column("as long", Align::kLeft, std::vector<int>{7},
                   [](int n) { return std::string(static_cast<size_t>(n), 'x'); });
  EXPECT_EQ(text_of(table), "  rank  as long\n     3  xxxxxxx\n");
}

TEST(Writers, SectionsAreSetApart) {
  Document document{{Heading{.title = "ONE", .remark = "of two"}}};
  document.add(Paragraph{.text = "said"});
  document.add(Heading{.title = "TWO"});
  document.add_more("3 more");
  document.add(BlankLine{});
  document.add(SingleLine{{{"the end"}}});
  EXPECT_EQ(write_text(document),
            "ONE   of two\n  said\n\n"
            "TWO\n  … and 3 more\n\n"
            "the end\n");
}

TEST(Writers, MarkdownHasABlankLineBetweenBlocksAndNoneBetweenItems) {
  Document document{{Heading{.title = "One", .level = 3}}};
  document.add_item({.text = "good", .mark = "✓"});
  document.add_item({.text = "a note"});
  document.add(Paragraph{.text = "look there", .lead = "→ "});
  document.add(Commands{{"ls *"}});
  EXPECT_EQ(write_markdown(document),
            "### One\n\n"
            "- ✓ good\n- a note\n\n"
            "→ look there\n\n"
            "```sh\nls *\n```\n");
}

TEST(Writers, LinesOfAParagraphBeginBelowTheEndOfItsLead) {
  EXPECT_EQ(text_of(Paragraph{.text = "one two three four five six seven eight",
                              .lead = "  1  ",
                              .tail = "network"},
                    44),
            "  1  one two three four five six     network\n"
            "     seven eight\n");
  EXPECT_EQ(text_of(List{{{.text = "bad", .mark = "!"}}}), "  !  bad\n");
}

TEST(Writers, FactsStandBelowEachOther) {
  const std::string words = "word word word word word word word word word";
  EXPECT_EQ(text_of(FactList{{{.label = "clock", .said = {{"one"}, {", two"}}},
                              {.label = "a name of a run", .said = {{"2 ranks"}}},
                              {.label = "memory", .said = {{words}}, .fit = Fact::Fit::kWrapped},
                              {.label = "command", .said = {{words}}, .fit = Fact::Fit::kCut}}},
                    43),
            "clock        one, two\n"
            "a name of a run   2 ranks\n"
            "memory       word word word word word word\n"
            "             word word word\n"
            "command      word word word word word …\n");
  EXPECT_EQ(markdown_of(FactList{{{.label = "clock", .said = {{"a"}, {"b", Style::kStrong}}}}}),
            "- clock: a**b**\n");
}

TEST(Writers, BarsAddUpAndTheirNotesStandInAColumn) {
  const Bars bars{{{"forward", "9.0 ms", 0.9, {"one note", "and another one that is long"}},
                   {"rest", "1.0 ms", 0.1, {"a note"}}}};
  EXPECT_EQ(text_of(bars, 70),
            "  forward     9.0 ms   90 %  ██████████████████  one note\n"
            "                                                 · and another one that is long\n"
            "  rest        1.0 ms   10 %  ██                  a note\n");
  EXPECT_EQ(markdown_of(bars), "- forward: 9.0 ms, 90 %\n- rest: 1.0 ms, 10 %\n");
}

TEST(Writers, AFoldIsOpenInTextAndClosedInMarkdown) {
  Fold fold{"<b>"};
  fold.inside.add(Paragraph{.text = "inside"});
  EXPECT_EQ(text_of(fold), "  <b>\n  inside\n");
  EXPECT_EQ(markdown_of(fold), "<details><summary>&#60;b&#62;</summary>\n\ninside\n\n</details>\n");
}

TEST(Writers, ColourGoesAroundTextsAndTrailingBlanksGoBeforeItEnds) {
  EXPECT_EQ(text_of(SingleLine{{{"a  ", Style::kStrong}}}, 100, true), "\x1b[1ma\x1b[0m\n");
  EXPECT_EQ(text_of(Paragraph{.text = "a", .style = Style::kBad}, 100, true),
            "  \x1b[1;31ma\x1b[0m\n");
  EXPECT_EQ(text_of(Paragraph{.text = "a", .style = Style::kBad}), "  a\n");
}

TEST(Writers, TextsOfATraceDoNoHarm) {
  const std::string evil = "a|<b>\x1b[2J\n";
  const std::string text = "a|<b>?[2J";
  const std::string markdown = "a\\|\\<b\\>?\\[2J ";
  EXPECT_EQ(text_of(Heading{.title = evil, .remark = evil}), text + "    " + text + "\n");
  EXPECT_EQ(text_of(Paragraph{.text = evil, .tail = evil}, 20), "  " + text + "  " + text + "\n");
  EXPECT_EQ(text_of(SingleLine{{{evil}}}), text + "\n");
  EXPECT_EQ(text_of(Commands{{evil}}), "  " + text + "\n");
  EXPECT_EQ(text_of(FactList{{{.label = evil, .said = {{evil}}}}}), text + "    " + text + "\n");
  EXPECT_EQ(markdown_of(Paragraph{.text = evil}), markdown + "\n");
  EXPECT_EQ(markdown_of(SingleLine{{{evil, Style::kStrong}}}), "**" + markdown + "**\n");
  Table table;
  table.add_columns(Align::kRight, {"n"});
  table.add_row({"<1<b>"});
  table.add_row({"<0.1"});
  table.rows.push_back({{"<0.1", Style::kStrong}});
  EXPECT_EQ(markdown_of(table), "| n |\n| ---: |\n| \\<1\\<b\\> |\n| <0.1 |\n| **<0.1** |\n");
}

}  // namespace
TEST(Writers, HtmlSaysWhatABlockIs) {
  const auto html_of = [](Block block) { return write_html({{std::move(block)}}); };
  EXPECT_EQ(html_of(Heading{.title = "RANK BY RANK", .remark = "ms"}),
            "<h2>Rank by rank</h2>\n<p class=\"remark\">ms</p>\n");
  EXPECT_EQ(html_of(Heading{.title = "GPU rows"}), "<h2>GPU rows</h2>\n");
  EXPECT_EQ(html_of(FactList{{{.label = "run", .said = {{"2 ranks   60 steps"}}}}}),
            "<dl>\n<div><dt class=\"faint\">run</dt><dd>2 ranks · 60 steps</dd></div>\n</dl>\n");
  EXPECT_EQ(html_of(Paragraph{.text = "look there", .lead = "  → ", .tail = "network"}),
            "<p>→ look there <span class=\"faint\">network</span></p>\n");
  EXPECT_EQ(html_of(List{{{.text = "good", .style = Style::kGood, .mark = "✓"}}}),
            "<ul>\n<li class=\"good\"><span class=\"mark\">✓</span>good</li>\n</ul>\n");
  EXPECT_EQ(html_of(Commands{{"ls *"}}), "<pre>ls *\n</pre>\n");
  Table table{"n"};
  table.rows.push_back({{"<0.1", Style::kStrong}});
  EXPECT_EQ(html_of(table),
            "<div class=\"wide\"><table>\n<thead><tr>\n<th scope=\"col\" class=\"n\">n</th>\n"
            "</tr></thead>\n<tbody>\n<tr><td class=\"n\"><b>&lt;0.1</b></td></tr>\n"
            "</tbody></table></div>\n");
  EXPECT_EQ(html_of(Bars{{{"forward", "9.0 ms", 0.9, {"a note"}, Style::kBar, Category::kForward},
                          {"rest", "1.0 ms", 0.1}}}),
            "<div class=\"stack\" aria-hidden=\"true\">\n"
            "<i class=\"c0\" style=\"width:90.00%\"></i>\n"
            "<i class=\"rest\" style=\"width:10.00%\"></i>\n</div>\n"
            "<table class=\"parts\"><tbody>\n"
            "<tr><td><i class=\"swatch c0\"></i>forward</td><td class=\"n\">9.0 ms</td>"
            "<td class=\"n\">90 %</td><td class=\"faint\">a note</td></tr>\n"
            "<tr><td><i class=\"swatch rest\"></i>rest</td><td class=\"n\">1.0 ms</td>"
            "<td class=\"n\">10 %</td><td class=\"faint\"></td></tr>\n</tbody></table>\n");
}

TEST(Writers, HtmlSetsNamesInBackticksAsCode) {
  EXPECT_EQ(html_prose("set `a<b` and `c`"), "set <code>a&lt;b</code> and <code>c</code>");
  EXPECT_EQ(html_prose("one ` alone"), "one ` alone");
  EXPECT_EQ(html_prose(""), "");
}

TEST(Writers, HtmlOfATraceMakesNoMarkup) {
  const std::string evil = "<script>alert('a' & \"b\")</script>\x1b[2J";
  EXPECT_EQ(escaped_markup(evil),
            "&lt;script&gt;alert(&#39;a&#39; &amp; &quot;b&quot;)&lt;/script&gt;?[2J");
  Fold fold{evil};
  Table table;
  table.add_columns(Align::kLeft, {evil});
  table.add_row({evil});
  fold.inside.add(std::move(table));
  const Document document{{Heading{.title = evil, .remark = evil},
                           Paragraph{.text = evil, .tail = evil}, SingleLine{{{evil, Style::kBad}}},
                           List{{{.text = evil, .mark = evil}}},
                           FactList{{{.label = evil, .said = {{evil}}}}}, Commands{{evil}},
                           Bars{{{evil, evil, 0.5, {evil}}}}, std::move(fold)}};
  const std::string html = write_html(document);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("alert('"), std::string::npos);
}

}  // namespace dprof::analyzer
