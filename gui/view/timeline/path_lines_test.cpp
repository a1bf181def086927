// SPDX-License-Identifier: Apache-2.0
// The critical path over the timeline.
#include "gui/view/timeline/path_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/view/draw_session.h"
#include "gui/view/model/test_support/path_model.h"
#include "gui/view/timeline/timeline_view.h"

namespace dprof::view {
namespace {

using test::kJobMs;
using test::kLongStep;
using ::testing::HasSubstr;

constexpr int kPathWidth = 1000;
constexpr int kPathHeight = 400;

class PathLinesTest : public ::testing::Test {
 protected:
  PathLinesTest() {
    session.viewport.resize(kPathWidth, kPathHeight);
    session.open(test::path_model());
    session.selecting.clear();
    session.viewport.show(window());
    session.path.show(true);
  }
  [[nodiscard]] Interval window() const {
    return session.model().steps[*session.model().index_of_step(kLongStep)].window;
  }
  [[nodiscard]] int x_of(int64_t ms) const {
    return session.viewport.scale().pixel_of(window().begin + DurationNs{ms * kJobMs});
  }
  [[nodiscard]] Box bar_of(int rank, int64_t from_ms, int64_t to_ms) const {
    const Row& row = *session.tracks.layout().of_rank(rank);
    return {x_of(from_ms), session.tracks.y_of(row) + kBarTop, x_of(to_ms) - x_of(from_ms),
            kBarHeight};
  }
  [[nodiscard]] DrawList path() const {
    DrawList list;
    draw_path(session.path.shown(), rows_area(session), kPathWidth, kPathHeight, list);
    return list;
  }
  // Whether a rectangle of that role begins there.
  static bool has(const DrawList& list, Role role, int x, int y) {
    return std::ranges::any_of(list.commands(), [&](const Command& command) {
      return command.kind == CommandKind::kRect && command.role == role && command.box.x == x &&
             command.box.y == y;
    });
  }

  Session session;
};

TEST_F(PathLinesTest, WhatIsOnThePathIsOutlinedAndNothingElse) {
  const DrawList list = path();
  const Box last = bar_of(2, 0, 40);
  EXPECT_TRUE(has(list, Role::kText, last.x, last.y));
  EXPECT_TRUE(has(list, Role::kText, last.x + last.w - 2, last.y));
  const Box other = bar_of(1, 0, 26);
  EXPECT_FALSE(has(list, Role::kText, other.x, other.y));
  session.path.show(false);
  EXPECT_TRUE(path().commands().empty());
}

TEST_F(PathLinesTest, TheHopIsDrawnAndTheMouseNamesWhatCarriedIt) {
  const auto& run_path = *session.model().path;
  const PathStep& step = run_path.steps[*run_path.index_of_step(kLongStep)];
  ASSERT_EQ(step.jumps, 1U);
  const PathJump& jump = run_path.jumps_of(step)[0];
  const Box from = bar_of(jump.from, 0, 40);
  const Box to = bar_of(jump.to, 0, 40);
  const int between = (std::min(from.y, to.y) + kBarHeight + std::max(from.y, to.y)) / 2;
  const auto found = jump_at(session.path.shown(), rows_area(session), {x_of(40) + 2, between});
  ASSERT_TRUE(found);
  const PathWords words = words_of_jump(rows_area(session), *found);
  EXPECT_THAT(words.title, HasSubstr("all_reduce"));
  ASSERT_FALSE(words.lines.empty());
  EXPECT_THAT(words.lines[0], HasSubstr("waited for rank 2"));
  EXPECT_FALSE(jump_at(session.path.shown(), rows_area(session), {x_of(30), between}))
      << "elsewhere";
  EXPECT_FALSE(jump_at(session.path.shown(), rows_area(session), {x_of(40), from.y + 2}))
      << "on the bar itself";
  session.tracks.set_hover(
      Hover{.at = {x_of(40), between}, .slice = {}, .piece = {}, .jump = static_cast<int>(*found)});
  const FixedTextMeasure measure;
  EXPECT_THAT(to_text(draw_overlay(session, kPathWidth, kPathHeight, measure)),
              HasSubstr("waited for rank 2"));
}

TEST_F(PathLinesTest, WhatHasSlackIsDimmedAndThePathIsNot) {
  const std::vector<Veil> idle =
      veils_of(session.path.shown(), session.viewport.scale(), 0, kPathWidth);
  ASSERT_FALSE(idle.empty());
  EXPECT_EQ(idle.front().grade, kMostSlack) << "20 of 44 ms could be spared";
  EXPECT_LE(idle.front().from, 1);
  EXPECT_GE(idle.front().to, x_of(39)) << "its waiting, too";
  for (const Veil& veil : veils_of(session.path.shown(), session.viewport.scale(), 2, kPathWidth))
    EXPECT_FALSE(veil.from < x_of(39) && veil.to > x_of(1)) << veil.from << ' ' << veil.to;
  session.path.show(false);
  EXPECT_TRUE(veils_of(session.path.shown(), session.viewport.scale(), 0, kPathWidth).empty());
}

TEST_F(PathLinesTest, StepsThatAreTooNarrowHaveNoVeil) {
  session.viewport.resize(200, kPathHeight);
  session.viewport.show_all();
  EXPECT_TRUE(veils_of(session.path.shown(), session.viewport.scale(), 0, 200).empty());
  EXPECT_FALSE(path().commands().empty());
}

TEST_F(PathLinesTest, WordsAtTheMouse) {
  const TraceNs at = window().begin + DurationNs{10 * kJobMs};
  EXPECT_THAT(path_words_at(session.path.shown(), 2, at),
              HasSubstr("on the critical path of step 8"));
  EXPECT_THAT(path_words_at(session.path.shown(), 0, at),
              HasSubstr("at least 20 % of the step to spare"));
  EXPECT_THAT(path_words_at(session.path.shown(), 0, window().begin + DurationNs{30 * kJobMs}),
              HasSubstr("it waits"));
  EXPECT_EQ(path_words_at(session.path.shown(), 0, session.model().steps[0].window.begin), "")
      << "not steady";
}

// However many parts share a pixel, the cost of a frame depends on the pixels.
TEST_F(PathLinesTest, ManyPartsOfAPixelAreOneRectangle) {
  Model many = *test::path_model();
  RunPath path_of_many = *many.path;
  path_of_many.parts.clear();
  for (int64_t i = 0; i < 100'000; ++i) {
    const TraceNs begin = window().begin + DurationNs{i * 400};
    path_of_many.parts.push_back({{begin, begin + DurationNs{400}}, static_cast<int>(i % 3), 0});
  }
  many.path = std::make_shared<const RunPath>(std::move(path_of_many));
  session.open(std::make_shared<const Model>(std::move(many)));
  session.viewport.show(window());
  session.path.show(true);
  EXPECT_LT(path().commands().size(), 3U * kPathWidth);
  EXPECT_GT(path().commands().size(), static_cast<size_t>(kPathWidth) / 2);
}

}  // namespace
}  // namespace dprof::view
