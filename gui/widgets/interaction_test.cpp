// SPDX-License-Identifier: Apache-2.0
// Mouse, trackpad and keys on the window, as a user has them.
#include <gtest/gtest.h>

#include <QApplication>
#include <QContextMenuEvent>
#include <QDialog>
#include <QKeySequenceEdit>
#include <QLineEdit>
#include <QMenu>
#include <QNativeGestureEvent>
#include <QPainter>
#include <QPointingDevice>
#include <QSettings>
#include <QSignalSpy>
#include <QTest>
#include <QTextBlock>
#include <QTextBrowser>
#include <QToolButton>
#include <QTreeWidget>
#include <QWheelEvent>
#include <cmath>
#include <set>

#include "gui/view/model/test_support/path_model.h"
#include "gui/view/model/test_support/test_model.h"
#include "gui/view/pages/what_if_page.h"
#include "gui/view/timeline/timeline_view.h"
#include "gui/widgets/main_window.h"
#include "tests/support/run_builder.h"
#include "tests/support/temporary_folder.h"

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
  static void stroke(QWidget& on, QPoint pixels, QPoint angle,
                     Qt::ScrollPhase phase = Qt::ScrollUpdate,
                     Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    const QPointF at(300, 100);
    QWheelEvent event(at, on.mapToGlobal(at), pixels, angle, Qt::NoButton, modifiers, phase, false);
    QApplication::sendEvent(&on, &event);
  }
  static void pinch(QWidget& on, QPointF at, double by) {
    QNativeGestureEvent event(Qt::ZoomNativeGesture, QPointingDevice::primaryPointingDevice(), 2,
                              at, at, on.mapToGlobal(at), by, QPointF());
    QApplication::sendEvent(&on, &event);
  }
  [[nodiscard]] Tracks& tracks() { return *window.findChild<Tracks*>(); }
  [[nodiscard]] const view::Selection& selection() const {
    return window.session().selecting.selection();
  }

  Look look;
  MainWindow window;
};

TEST_F(InteractionTest, PinnedRowsAreUnderTheMouseWhereTheyAreSeen) {
  show(1280, 440);
  ASSERT_TRUE(window.select("rank:2", false).ok());
  key(Qt::Key_P);
  const view::Session& session = window.session();
  ASSERT_GT(session.tracks.layout().fixed_height, 0);
  key(Qt::Key_PageDown);
  ASSERT_GT(session.tracks.scroll(), view::kRowHeight);
  const int bar = view::kHeaderHeight + view::kRowHeight + view::kBarTop + 4;
  QTest::mouseMove(&window.canvas(), {310, bar});
  ASSERT_TRUE(session.tracks.hover());
  EXPECT_EQ(session.tracks.hover()->rank_index, 2);
  const view::Row* rank = session.tracks.layout().of_rank(1);
  ASSERT_FALSE(session.tracks.is_in_view(*rank)) << "it is scrolled away";
  window.session().selecting.clear();
  QTest::mouseClick(&tracks(), Qt::LeftButton, {}, {100, view::kRowHeight + 8});
  EXPECT_EQ(selection().ranks, std::vector<int>{2});
}

TEST_F(InteractionTest, ADragMovesARankAmongThoseOfItsHost) {
  const view::Session& session = window.session();
  const auto shown = [&] {
    std::vector<int> ranks;
    for (const view::Row& row : session.tracks.layout().rows) {
      if (row.kind == view::RowKind::kRank)
        ranks.push_back(session.model().ranks[static_cast<size_t>(row.rank_index)].rank);
    }
    return ranks;
  };
  const auto middle = [&](int rank_index) {
    const view::Row* row = session.tracks.layout().of_rank(rank_index);
    return QPoint(100, session.tracks.y_of(*row) + row->height / 2);
  };
  ASSERT_EQ(shown(), (std::vector<int>{0, 1, 2}));
  const QPoint end = middle(2);  // of another host: rank 0 comes to stand last on its own
  QTest::mousePress(&tracks(), Qt::LeftButton, {}, middle(0));
  QTest::mouseMove(&tracks(), end);
  ASSERT_TRUE(session.tracks.rank_drop());
  EXPECT_EQ(session.tracks.rank_drop()->by, 1);
  EXPECT_EQ(shown(), (std::vector<int>{0, 1, 2})) << "it is moved when it is let go";
  QTest::mouseRelease(&tracks(), Qt::LeftButton, {}, end);
  EXPECT_EQ(shown(), (std::vector<int>{1, 0, 2}));
  EXPECT_FALSE(session.tracks.rank_drop());

  // Esc lets go of it where it was.
  QTest::mousePress(&tracks(), Qt::LeftButton, {}, middle(0));
  QTest::mouseMove(&tracks(), middle(1));
  ASSERT_TRUE(session.tracks.rank_drop());
  key(Qt::Key_Escape);
  QTest::mouseRelease(&tracks(), Qt::LeftButton, {}, middle(1));
  EXPECT_EQ(shown(), (std::vector<int>{1, 0, 2}));

  // A click selects, and folds on the mark.
  QTest::mouseClick(&tracks(), Qt::LeftButton, {}, middle(1));
  EXPECT_EQ(selection().ranks, std::vector<int>{1});
  EXPECT_EQ(shown(), (std::vector<int>{1, 0, 2}));
  const size_t rows = session.tracks.layout().rows.size();
  QTest::mouseClick(&tracks(), Qt::LeftButton, {}, QPoint(28, middle(0).y()));
  EXPECT_NE(session.tracks.layout().rows.size(), rows);
}

TEST_F(InteractionTest, ANoteThatIsLeftForgetsItsMoment) {
  auto* field = window.findChild<QLineEdit*>(QStringLiteral("go_to"));
  ASSERT_NE(field, nullptr);
  const auto write_note = [&] {
    field->setFocus();
    field->setText(QStringLiteral("note by hand"));
    QTest::keyClick(field, Qt::Key_Return);
    return window.session().notes.all().back().at;
  };
  ASSERT_TRUE(window.select("range:10ms..30ms", false).ok());
  const Interval selected = window.session().selecting.range();
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
  ASSERT_EQ(window.session().notes.all().size(), 2U);

  key(Qt::Key_M);
  QTest::keyClicks(field, "here");
  QTest::keyClick(field, Qt::Key_Return);
  EXPECT_EQ(window.session().notes.all().size(), 3U);
  const auto is_moment = [](const view::Note& note) { return note.at.empty(); };
  EXPECT_EQ(std::ranges::count_if(window.session().notes.all(), is_moment), 1);
}

// As trackpads send them: pixels with phases; `angle` besides, in eighths of a degree.
TEST_F(InteractionTest, TwoFingersScrollAndPanAsFarAsTheyMove) {
  show(1280, 400);
  window.session().tracks.scroll_by(-1000);
  stroke(window.canvas(), {0, -7}, {0, -14});
  EXPECT_EQ(window.session().tracks.scroll(), 7);
  stroke(tracks(), {0, 3}, {0, 6});
  EXPECT_EQ(window.session().tracks.scroll(), 4);
  key(Qt::Key_W);
  const Interval before = window.session().viewport.range();
  const TraceNs under = window.session().viewport.scale().time_of(400);
  stroke(window.canvas(), {-25, 2}, {-50, 4});
  EXPECT_NEAR(window.session().viewport.scale().pixel_of(under), 375, 1);
  EXPECT_EQ(window.session().viewport.range().length(), before.length());
  EXPECT_EQ(window.session().tracks.scroll(), 4) << "one direction at a time";
}

// Without phases the pixels are the driver's, and a notch is divided.
TEST_F(InteractionTest, PartsOfANotchAddUp) {
  show(1280, 400);
  window.session().tracks.scroll_by(-1000);
  for (int i = 0; i < 60; ++i) stroke(window.canvas(), {0, -900}, {0, -1}, Qt::NoScrollPhase);
  EXPECT_NEAR(window.session().tracks.scroll(), view::kRowHeight, 1) << "half a notch";
  const DurationNs whole = window.session().viewport.range().length();
  for (int i = 0; i < 12; ++i)
    stroke(window.canvas(), {}, {0, 10}, Qt::NoScrollPhase, Qt::ControlModifier);
  EXPECT_NEAR(static_cast<double>(window.session().viewport.range().length().ns),
              0.8 * static_cast<double>(whole.ns), 0.001 * static_cast<double>(whole.ns))
      << "as one notch zooms";
}

TEST_F(InteractionTest, APinchZoomsWhereTheFingersAre) {
  const auto length = [&] {
    return static_cast<double>(window.session().viewport.range().length().ns);
  };
  const double before = length();
  const TraceNs under = window.session().viewport.scale().time_of(300);
  pinch(window.canvas(), {300, 150}, 0.25);
  EXPECT_NEAR(length(), before / 1.25, before * 0.001);
  EXPECT_NEAR(window.session().viewport.scale().pixel_of(under), 300, 1);
  pinch(window.canvas(), {300, 150}, -0.2);
  EXPECT_NEAR(length(), before, before * 0.001);
  for (int i = 0; i < 1000; ++i) pinch(window.canvas(), {300, 150}, 0.0005);
  EXPECT_NEAR(length(), before / std::pow(1.0005, 1000), before * 0.001) << "slow ones count, too";

  auto* bar = window.findChild<Overview*>();
  ASSERT_NE(bar, nullptr);
  window.session().viewport.show_all();
  const double whole = length();
  pinch(*bar, {200, 20}, 0.5);
  EXPECT_NEAR(length(), whole / 1.5, whole * 0.001);
}

TEST_F(InteractionTest, AHungRunHasABannerThatLeadsToIt) {
  auto* banner = window.findChild<ScrollPane*>(QStringLiteral("failure"));
  ASSERT_NE(banner, nullptr);
  EXPECT_FALSE(banner->isVisible()) << "this run is none";
  view::Model model = view::test::small_model();
  model.collectives.back().complete = false;
  model.report.hang = analyzer::Hang{.state = "waiting",
                                     .culprits = {2},
                                     .waiting = {0, 1},
                                     .communicator = model.collectives.back().communicator,
                                     .function = model.collectives.back().function,
                                     .sequence = model.collectives.back().sequence};
  window.show_model(std::make_shared<const view::Model>(std::move(model)));
  window.session().selecting.clear();
  key(Qt::Key_5, Qt::ControlModifier);
  EXPECT_TRUE(banner->isVisible());
  QTest::mouseClick(banner->viewport(), Qt::LeftButton, {}, QPoint(200, 20));
  EXPECT_EQ(selection().collective, window.session().model().collectives.size() - 1);
  EXPECT_EQ(window.session().viewport.page(), view::Page::kTimeline);
}

// A role without a brush would hide what is hatched with it.
TEST_F(InteractionTest, EveryRoleCanBeHatched) {
  for (size_t role = 0; role < view::kRoles; ++role) {
    view::DrawList list;
    list.hatch({0, 0, 12, 12}, static_cast<view::Role>(role));
    QImage picture(12, 12, QImage::Format_ARGB32_Premultiplied);
    picture.fill(Qt::transparent);
    QPainter painter(&picture);
    look.play(list, painter);
    painter.end();
    EXPECT_NE(picture.pixelColor(6, 6).alpha(), 0) << view::word_of(static_cast<view::Role>(role));
  }
}

// A window as a user has it, whose settings are in a folder of the test's.
class RecentRunsTest : public ::testing::Test {
 protected:
  RecentRunsTest() : look(view::light_theme()) {
    QSettings::setDefaultFormat(QSettings::IniFormat);
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope,
                       QString::fromStdString(folder.path().string()));
    QCoreApplication::setOrganizationName(QStringLiteral("test"));
    for (const char* run : {"first", "second"})
      EXPECT_TRUE(test_support::write_run(folder.path() / run, {}).ok());
  }
  [[nodiscard]] std::unique_ptr<MainWindow> new_window(bool remembers = true) {
    auto window = std::make_unique<MainWindow>(look);
    window->resize(1280, 720);
    if (remembers) window->recall_layout();
    window->show();
    return window;
  }
  static QTreeWidget& list_of(MainWindow& window) { return *window.findChild<QTreeWidget*>(); }
  static std::vector<std::string> listed(MainWindow& window) {
    std::vector<std::string> names;
    const QTreeWidget& list = list_of(window);
    for (int i = 0; list.isVisible() && i < list.topLevelItemCount(); ++i)
      names.push_back(list.topLevelItem(i)->text(0).toStdString());
    return names;
  }
  static std::string opened(MainWindow& window, const std::function<void()>& open) {
    QSignalSpy settled(&window, &MainWindow::settled);
    open();
    EXPECT_TRUE(settled.wait(20'000));
    return window.session().is_open() ? window.session().model().run.name : "";
  }

  test_support::TemporaryFolder folder;
  Look look;
};

TEST_F(RecentRunsTest, AreListedTheLastFirstAndOpenByKeyOrMouse) {
  {
    const auto window = new_window();
    EXPECT_TRUE(listed(*window).empty());
    for (const char* run : {"first", "second", "second"})
      opened(*window, [&] { window->open({folder.path() / run / ""}); });
  }
  {
    const auto window = new_window();
    QTreeWidget& list = list_of(*window);
    EXPECT_EQ(listed(*window), (std::vector<std::string>{"second", "first"}));
    EXPECT_EQ(window->focusWidget(), &list) << "Enter opens the last one";
    QTest::keyClick(&list, Qt::Key_Down);
    EXPECT_EQ(opened(*window, [&] { QTest::keyClick(&list, Qt::Key_Return); }), "first");
    EXPECT_FALSE(list.isVisible());
  }
  std::filesystem::remove_all(folder.path() / "first");
  const auto window = new_window();
  QTreeWidget& list = list_of(*window);
  EXPECT_EQ(listed(*window), std::vector<std::string>{"second"}) << "the other one is gone";
  const QPoint line = list.visualItemRect(list.topLevelItem(0)).center();
  EXPECT_EQ(opened(*window, [&] { QTest::mouseClick(list.viewport(), Qt::LeftButton, {}, line); }),
            "second");
  ASSERT_TRUE(window->press(QStringLiteral("Ctrl+Shift+O")));
  const auto* menu = window->findChild<QMenu*>();
  ASSERT_NE(menu, nullptr);
  ASSERT_EQ(menu->actions().size(), 1);
  EXPECT_EQ(opened(*window, [&] { menu->actions().front()->trigger(); }), "second");
}

TEST_F(RecentRunsTest, AWindowThatRemembersNothingListsNone) {
  {
    const auto window = new_window();
    opened(*window, [&] { window->open({folder.path() / "first"}); });
  }
  const auto window = new_window(/*remembers=*/false);
  EXPECT_TRUE(listed(*window).empty());
  opened(*window, [&] { window->open({folder.path() / "second"}); });
  EXPECT_EQ(listed(*new_window()), std::vector<std::string>{"first"});
}

TEST_F(InteractionTest, ARightClickSelectsAndOffersTheCommandsAboutIt) {
  const auto menu_at = [&](QWidget& on, QPoint at) {
    QContextMenuEvent event(QContextMenuEvent::Mouse, at, on.mapToGlobal(at));
    QApplication::sendEvent(&on, &event);
    return on.window()->findChild<QMenu*>();
  };
  const view::Row& rank = *window.session().tracks.layout().of_rank(1);
  QMenu* menu = menu_at(tracks(), {80, window.session().tracks.y_of(rank) + 8});
  ASSERT_NE(menu, nullptr);
  EXPECT_EQ(selection().ranks, std::vector<int>{1});
  QAction* pin = nullptr;
  for (QAction* action : menu->actions()) {
    if (action->shortcut() == QKeySequence(Qt::Key_P)) pin = action;
  }
  ASSERT_NE(pin, nullptr);
  pin->trigger();
  EXPECT_EQ(window.session().tracks.arrangement().pinned, std::vector<std::string>{"rank:1"});
  menu->close();
}

// The step under the mouse is explained, not the one that was selected.
TEST_F(InteractionTest, TheMenuSaysWhyAStepIsLong) {
  window.show_model(view::test::path_model());
  QCoreApplication::processEvents();
  view::Session& session = window.session();
  session.selecting.select_step(5);
  session.viewport.show_all();
  window.refresh();
  const Interval step = session.model().steps[view::test::kLongStep].window;
  const QPoint at(session.viewport.scale().pixel_of(step.begin + DurationNs{step.length().ns / 2}),
                  30);
  QContextMenuEvent event(QContextMenuEvent::Mouse, at, window.canvas().mapToGlobal(at));
  QApplication::sendEvent(&window.canvas(), &event);
  QMenu* menu = window.findChild<QMenu*>();
  ASSERT_NE(menu, nullptr);
  QAction* why = nullptr;
  for (QAction* action : menu->actions()) {
    if (action->text().contains(QStringLiteral("Why is step 8 long?"))) why = action;
  }
  ASSERT_NE(why, nullptr);
  why->trigger();
  EXPECT_EQ(session.selecting.selection().step, view::test::kLongStep);
  EXPECT_EQ(session.dock, view::Dock::kPath);
  EXPECT_TRUE(window.docks().is_seen(view::Dock::kPath));
  menu->close();
}

TEST_F(InteractionTest, TheMouseNamesWhatCarriedThePath) {
  window.show_model(view::test::path_model());
  ASSERT_TRUE(window.press(QStringLiteral("Shift+C")));
  ASSERT_TRUE(window.session().explain_step(view::test::kLongStep).ok());
  window.refresh();
  QCoreApplication::processEvents();
  const view::Session& session = window.session();
  const view::RunPath& path = *session.model().path;
  const view::PathJump& jump = path.jumps_of(path.steps[*path.index_of_step(8)])[0];
  const view::Row& from = *session.tracks.layout().of_rank(std::min(jump.from, jump.to));
  const QPoint at(session.viewport.scale().pixel_of(jump.at),
                  view::kHeaderHeight + session.tracks.y_of(from) + from.height);
  QTest::mouseMove(&window.canvas(), at);
  ASSERT_TRUE(session.tracks.hover());
  EXPECT_GE(session.tracks.hover()->jump, 0);
}

TEST_F(InteractionTest, SlidersOfWhatIfFollowTheMouse) {
  show(1600, 1000);
  window.show_model(view::test::path_model());
  ASSERT_TRUE(window.press(QStringLiteral("Ctrl+8")));
  EXPECT_EQ(window.session().viewport.page(), view::Page::kWhatIf);
  QCoreApplication::processEvents();
  ScrollPane& pane = window.page_pane(view::Page::kWhatIf);
  const QSize size = pane.viewport()->size();
  const view::Panel drawn =
      view::draw_what_if_page(window.session().model(), window.session().what_if, size.width(),
                              size.height(), 0, look.measure());
  ASSERT_FALSE(drawn.sliders.empty());
  const view::Box area = drawn.sliders.front().area;
  const QPoint left(area.x + 1, area.y + area.h / 2);
  QTest::mousePress(pane.viewport(), Qt::LeftButton, {}, left);
  EXPECT_TRUE(window.session().what_if.changes().empty()) << "as recorded";
  QTest::mouseMove(pane.viewport(), left + QPoint(area.w / 2, 40));
  ASSERT_EQ(window.session().what_if.changes().size(), 1U) << "it is held, wherever the mouse is";
  const std::string half = window.session().what_if.changes().front();
  QTest::mouseMove(pane.viewport(), left + QPoint(area.w, 0));
  ASSERT_EQ(window.session().what_if.changes().size(), 1U);
  EXPECT_NE(window.session().what_if.changes().front(), half);
  QTest::mouseRelease(pane.viewport(), Qt::LeftButton, {}, left + QPoint(area.w, 0));
  QTest::mouseMove(pane.viewport(), left);
  EXPECT_EQ(window.session().what_if.changes().size(), 1U) << "it was let go";
  ASSERT_NE(window.session().what_if.answer(), nullptr);
}

TEST_F(InteractionTest, ARangeStaysUnderARightClickInIt) {
  window.session().selecting.select_range(window.session().viewport.range());
  const QPoint at(300, view::kHeaderHeight + 60);
  QContextMenuEvent event(QContextMenuEvent::Mouse, at, window.canvas().mapToGlobal(at));
  QApplication::sendEvent(&window.canvas(), &event);
  EXPECT_TRUE(selection().range);
  ASSERT_NE(window.findChild<QMenu*>(), nullptr);
  window.findChild<QMenu*>()->close();
}

TEST_F(InteractionTest, F6GoesRoundTheWindow) {
  show(1400, 720);
  window.canvas().setFocus();
  const QWidget* first = QApplication::focusWidget();
  std::vector<QWidget*> seen;
  for (int i = 0; i < 4; ++i) {
    window.press(QStringLiteral("F6"));
    seen.push_back(QApplication::focusWidget());
  }
  EXPECT_EQ(seen.back(), first);
  EXPECT_EQ(std::set<QWidget*>(seen.begin(), seen.end()).size(), 4U);
  window.press(QStringLiteral("Shift+F6"));
  EXPECT_EQ(QApplication::focusWidget(), seen[2]);
}

TEST_F(InteractionTest, ControlAndArrowsGoOutAndIn) {
  ASSERT_TRUE(window.select("row:0/host_range/3", false).ok());  // forward, within the first step
  key(Qt::Key_Up, Qt::ControlModifier);
  ASSERT_TRUE(selection().slice);
  EXPECT_EQ(name_of(window.session().model(), *selection().slice), "step");
  key(Qt::Key_Down, Qt::ControlModifier);
  EXPECT_EQ(name_of(window.session().model(), *selection().slice), "input");
  key(Qt::Key_Down, Qt::ControlModifier);
  EXPECT_EQ(name_of(window.session().model(), *selection().slice), "input") << "nothing in it";
}

TEST_F(InteractionTest, ADragOverTheHistogramMarksTheEventsOfThatLength) {
  ASSERT_TRUE(window.select("rank:2", false).ok());
  ASSERT_TRUE(window.select("name:input", true).ok());
  window.press(QStringLiteral("Alt+7"));
  QCoreApplication::processEvents();
  QWidget* bars = window.docks().pane(view::Dock::kHistogram).viewport();
  const QPixmap before = window.canvas().grab();
  QTest::mousePress(bars, Qt::LeftButton, {}, QPoint(100, 60));
  QTest::mouseMove(bars, QPoint(250, 60));
  QTest::mouseRelease(bars, Qt::LeftButton, {}, QPoint(250, 60));
  ASSERT_TRUE(selection().durations);
  EXPECT_GT(selection().durations->from_ns, 10 * view::test::kMs);
  EXPECT_FALSE(selection().slice) << "a drag is no click";
  EXPECT_NE(window.canvas().grab().toImage(), before.toImage());
  // A click chooses the longest event of a bar.
  QTest::mouseClick(bars, Qt::LeftButton, {}, QPoint(14, 60));
  EXPECT_TRUE(selection().slice);
}

TEST_F(InteractionTest, TheMousesSideButtonsGoBackAndForward) {
  window.press(QStringLiteral("Ctrl+6"));
  auto* filter = window.findChild<QLineEdit*>(QStringLiteral("filter"));
  ASSERT_NE(filter, nullptr);
  filter->setText(QStringLiteral("rank 1"));
  const auto side = [&](QWidget& on, Qt::MouseButton button) {
    QTest::mouseClick(&on, button, {}, QPoint(30, 60));
  };
  side(*window.page_pane(view::Page::kMemory).viewport(), Qt::BackButton);
  EXPECT_TRUE(filter->text().isEmpty());
  EXPECT_EQ(window.session().viewport.page(), view::Page::kMemory);
  side(*window.page_pane(view::Page::kMemory).viewport(), Qt::BackButton);
  EXPECT_EQ(window.session().viewport.page(), view::Page::kTimeline);
  side(window.canvas(), Qt::ForwardButton);
  EXPECT_EQ(window.session().viewport.page(), view::Page::kMemory);
  side(window.heatmap(), Qt::ForwardButton);
  EXPECT_EQ(filter->text(), QStringLiteral("rank 1"));
}

TEST_F(InteractionTest, F11FillsTheScreenAndBack) {
  window.press(QStringLiteral("F11"));
  EXPECT_TRUE(window.isFullScreen());
  window.press(QStringLiteral("F11"));
  EXPECT_FALSE(window.isFullScreen());
}

TEST_F(InteractionTest, KeysAreBoundAnewAndRemembered) {
  const test_support::TemporaryFolder folder;
  QSettings::setDefaultFormat(QSettings::IniFormat);
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope,
                     QString::fromStdString(folder.path().string()));
  window.recall_layout();
  const auto field_of = [&](const QString& command) {
    window.press(QStringLiteral("?"));
    QKeySequenceEdit* found = nullptr;
    for (auto* field : window.findChildren<QKeySequenceEdit*>()) {
      if (field->accessibleName() == command) found = field;
    }
    return found;
  };
  QKeySequenceEdit* whole = field_of(QStringLiteral("The whole run"));
  ASSERT_NE(whole, nullptr);
  // One that another command has is refused, and said.
  whole->setKeySequence(QKeySequence("N"));
  emit whole->editingFinished();
  EXPECT_EQ(whole->keySequence(), QKeySequence("0"));
  EXPECT_NE(window.state().find("N is the key of"), std::string::npos);
  whole->setKeySequence(QKeySequence("Ctrl+Alt+Q"));
  emit whole->editingFinished();
  EXPECT_FALSE(window.press(QStringLiteral("0")));
  QKeySequenceEdit* hangs = field_of(QStringLiteral("Where it failed"));
  ASSERT_NE(hangs, nullptr) << "a command that has no key";
  hangs->setKeySequence(QKeySequence("Ctrl+Alt+H"));
  emit hangs->editingFinished();

  MainWindow tomorrow(look);
  tomorrow.show_model(view::test::shared_small_model());
  tomorrow.recall_layout();
  tomorrow.session().viewport.show({TraceNs{0}, TraceNs{1000}});
  EXPECT_TRUE(tomorrow.press(QStringLiteral("Ctrl+Alt+Q")));
  EXPECT_EQ(tomorrow.session().viewport.range(), tomorrow.session().viewport.whole());
  EXPECT_TRUE(tomorrow.press(QStringLiteral("Ctrl+Alt+H")));

  auto* reset = whole->window()->findChild<QToolButton*>();
  ASSERT_NE(reset, nullptr);
  reset->click();
  EXPECT_TRUE(window.press(QStringLiteral("0")));
  MainWindow later(look);
  later.recall_layout();
  EXPECT_FALSE(later.press(QStringLiteral("Ctrl+Alt+Q")));
  EXPECT_FALSE(later.press(QStringLiteral("Ctrl+Alt+H")));
}

TEST_F(InteractionTest, TheManualOpensAtWhatIsShown) {
  for (const auto& [page, section] :
       {std::pair(view::Page::kMemory, "Memory"), std::pair(view::Page::kHeatmap, "Ranks × steps"),
        std::pair(view::Page::kTimeline, "What is where")}) {
    window.show_page(page);
    window.press(QStringLiteral("F1"));
    auto* dialog = window.findChild<QDialog*>(QStringLiteral("manual"));
    ASSERT_NE(dialog, nullptr);
    const auto* text = dialog->findChild<QTextBrowser*>();
    EXPECT_EQ(text->textCursor().block().text(), QString::fromUtf8(section));
    delete dialog;
  }
}

}  // namespace
}  // namespace dprof::widgets
