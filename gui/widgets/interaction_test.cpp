// SPDX-License-Identifier: Apache-2.0
// Mouse, trackpad and keys on the window, as a user has them.
#include <gtest/gtest.h>

#include <QApplication>
#include <QTest>

#include "gui/view/test_model.h"
#include "gui/view/timeline_view.h"
#include "gui/widgets/main_window.h"

namespace dprof::widgets {
namespace {

class InteractionTest : public ::testing::Test {
 protected:
  InteractionTest() : look(view::light_theme()), window(look) { show(1280, 720); }

  void show(int width, int height) {
    window.resize(width, height);
    window.show();
    window.activateWindow();
    EXPECT_TRUE(QTest::qWaitForWindowActive(&window));
    window.show_model(view::test::shared_small_model());
    QCoreApplication::processEvents();
  }

  void key(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(&window.canvas(), key, modifiers);
  }
  [[nodiscard]] Tracks& tracks() { return *window.findChild<Tracks*>(); }
  [[nodiscard]] const view::Selection& selection() const { return window.session().selection(); }

  Look look;
  MainWindow window;
};

TEST_F(InteractionTest, PinnedRowsAreUnderTheMouseWhereTheyAreSeen) {
  show(1280, 440);
  ASSERT_TRUE(window.select("rank:2", false).ok());
  key(Qt::Key_P);
  const view::Session& session = window.session();
  ASSERT_GT(session.layout().fixed_height, 0);
  key(Qt::Key_PageDown);
  ASSERT_GT(session.scroll(), view::kRowHeight);
  const int bar = view::kHeaderHeight + view::kRowHeight + view::kBarTop + 4;
  QTest::mouseMove(&window.canvas(), {310, bar});
  ASSERT_TRUE(session.hover());
  EXPECT_EQ(session.hover()->rank_index, 2);
  const view::Row* rank = session.layout().of_rank(1);
  ASSERT_FALSE(session.is_in_view(*rank)) << "it is scrolled away";
  window.session().clear_selection();
  QTest::mouseClick(&tracks(), Qt::LeftButton, {}, {100, view::kRowHeight + 8});
  EXPECT_EQ(selection().ranks, std::vector<int>{2});
}

TEST_F(InteractionTest, ADragMovesARankAmongThoseOfItsHost) {
  const view::Session& session = window.session();
  const auto shown = [&] {
    std::vector<int> ranks;
    for (const view::Row& row : session.layout().rows) {
      if (row.kind == view::RowKind::kRank)
        ranks.push_back(session.model().ranks[static_cast<size_t>(row.rank_index)].rank);
    }
    return ranks;
  };
  const auto middle = [&](int rank_index) {
    const view::Row* row = session.layout().of_rank(rank_index);
    return QPoint(100, session.y_of(*row) + row->height / 2);
  };
  ASSERT_EQ(shown(), (std::vector<int>{0, 1, 2}));
  const QPoint end = middle(2);  // of another host: rank 0 comes to stand last on its own
  QTest::mousePress(&tracks(), Qt::LeftButton, {}, middle(0));
  QTest::mouseMove(&tracks(), end);
  ASSERT_TRUE(session.rank_drop());
  EXPECT_EQ(session.rank_drop()->by, 1);
  EXPECT_EQ(shown(), (std::vector<int>{0, 1, 2})) << "it is moved when it is let go";
  QTest::mouseRelease(&tracks(), Qt::LeftButton, {}, end);
  EXPECT_EQ(shown(), (std::vector<int>{1, 0, 2}));
  EXPECT_FALSE(session.rank_drop());

  // Esc lets go of it where it was.
  QTest::mousePress(&tracks(), Qt::LeftButton, {}, middle(0));
  QTest::mouseMove(&tracks(), middle(1));
  ASSERT_TRUE(session.rank_drop());
  key(Qt::Key_Escape);
  QTest::mouseRelease(&tracks(), Qt::LeftButton, {}, middle(1));
  EXPECT_EQ(shown(), (std::vector<int>{1, 0, 2}));

  // A click selects, and folds on the mark.
  QTest::mouseClick(&tracks(), Qt::LeftButton, {}, middle(1));
  EXPECT_EQ(selection().ranks, std::vector<int>{1});
  EXPECT_EQ(shown(), (std::vector<int>{1, 0, 2}));
  const size_t rows = session.layout().rows.size();
  QTest::mouseClick(&tracks(), Qt::LeftButton, {}, QPoint(28, middle(0).y()));
  EXPECT_NE(session.layout().rows.size(), rows);
}

TEST_F(InteractionTest, ANoteThatIsLeftForgetsItsMoment) {
  auto* field = window.findChild<QLineEdit*>(QStringLiteral("go_to"));
  ASSERT_NE(field, nullptr);
  const auto write_note = [&] {
    field->setFocus();
    field->setText(QStringLiteral("note by hand"));
    QTest::keyClick(field, Qt::Key_Return);
    return window.session().notes().back().at;
  };
  ASSERT_TRUE(window.select("range:10ms..30ms", false).ok());
  const Interval selected = window.session().selected_range();
  key(Qt::Key_M);
  EXPECT_EQ(field->text(), QStringLiteral("note "));
  QTest::keyClicks(field, "half of it");
  QTest::keyClick(field, Qt::Key_Escape);
  EXPECT_EQ(field->text(), QString()) << "it would be about something else";
  EXPECT_EQ(write_note(), selected);

  key(Qt::Key_M);
  tracks().setFocus();
  window.canvas().setFocus();  // left without Esc
  EXPECT_EQ(write_note(), selected);
  ASSERT_EQ(window.session().notes().size(), 2U);

  key(Qt::Key_M);
  QTest::keyClicks(field, "here");
  QTest::keyClick(field, Qt::Key_Return);
  EXPECT_EQ(window.session().notes().size(), 3U);
  const auto is_moment = [](const view::Note& note) { return note.at.empty(); };
  EXPECT_EQ(std::ranges::count_if(window.session().notes(), is_moment), 1);
}

}  // namespace
}  // namespace dprof::widgets
