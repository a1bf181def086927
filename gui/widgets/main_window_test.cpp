// SPDX-License-Identifier: Apache-2.0
// The window on the offscreen platform: keys, mouse, panels, opening.
#include "gui/widgets/main_window.h"

#include <gtest/gtest.h>

#include <QAccessible>
#include <QApplication>
#include <QDragEnterEvent>
#include <QMimeData>
#include <QPointer>
#include <QScrollBar>
#include <QSettings>
#include <QSignalSpy>
#include <QStyleFactory>
#include <QTest>
#include <QWheelEvent>
#include <nlohmann/json.hpp>

#include "gui/view/model/test_support/test_model.h"
#include "gui/view/timeline/timeline_view.h"
#include "tests/support/run_builder.h"
#include "tests/support/temporary_folder.h"

namespace dprof::widgets {
namespace {

class Application : public ::testing::Environment {
 public:
  void SetUp() override {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    application_ = std::make_unique<QApplication>(argc_, argv_);
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  }
  void TearDown() override { application_.reset(); }

 private:
  int argc_ = 1;
  char name_[5] = "test";
  char* argv_[2] = {name_, nullptr};
  std::unique_ptr<QApplication> application_;
};

[[maybe_unused]] const auto* const kApplication =
    ::testing::AddGlobalTestEnvironment(new Application);

class MainWindowTest : public ::testing::Test {
 protected:
  MainWindowTest() : look(view::light_theme()), window(look) {
    window.resize(1280, 720);
    window.show();
    window.activateWindow();
    EXPECT_TRUE(QTest::qWaitForWindowActive(&window));
  }

  void show_small() {
    window.show_model(view::test::shared_small_model());
    QCoreApplication::processEvents();
  }

  void key(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(&window.canvas(), key, modifiers);
  }

  void wheel(int delta, Qt::KeyboardModifiers modifiers) {
    const QPointF at(300, 200);
    QWheelEvent event(at, window.canvas().mapToGlobal(at), {}, {0, delta}, Qt::NoButton, modifiers,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(&window.canvas(), &event);
  }

  [[nodiscard]] Interval range() const { return window.session().viewport.range(); }
  [[nodiscard]] nlohmann::json state() const { return nlohmann::json::parse(window.state()); }
  [[nodiscard]] const view::Selection& selection() const {
    return window.session().selecting.selection();
  }

  Look look;
  MainWindow window;
};

TEST_F(MainWindowTest, WithoutARunItSaysWhatToDo) {
  EXPECT_FALSE(window.session().is_open());
  key(Qt::Key_W);
  key(Qt::Key_N);
  EXPECT_FALSE(window.grab().isNull());
}

TEST_F(MainWindowTest, LettersZoomAndPan) {
  show_small();
  // W zooms around the mouse, wherever an earlier test left it: at an edge there is no room to pan.
  QTest::mouseMove(&window.canvas(), window.canvas().rect().center());
  const Interval before = range();
  key(Qt::Key_W);
  EXPECT_LT(range().length(), before.length());
  const Interval zoomed = range();
  key(Qt::Key_D);
  EXPECT_GT(range().begin, zoomed.begin);
  EXPECT_EQ(range().length(), zoomed.length());
  key(Qt::Key_A);
  EXPECT_EQ(range(), zoomed);
  key(Qt::Key_S);
  key(Qt::Key_S);
  EXPECT_GT(range().length(), zoomed.length());
  key(Qt::Key_0);
  EXPECT_EQ(range(), window.session().viewport.whole());
}

TEST_F(MainWindowTest, PlusMinusArrowsAndBackspace) {
  show_small();
  const Interval before = range();
  key(Qt::Key_Plus);
  EXPECT_LT(range().length(), before.length());
  key(Qt::Key_Right);
  key(Qt::Key_Minus);
  key(Qt::Key_Backspace);
  EXPECT_EQ(range(), before);
}

TEST_F(MainWindowTest, KeysWalkFindingsStepsAndArrivals) {
  show_small();
  key(Qt::Key_N);
  EXPECT_EQ(selection().finding, 1U);
  key(Qt::Key_N, Qt::ShiftModifier);
  EXPECT_EQ(selection().finding, 0U);
  EXPECT_EQ(state()["selection"]["ranks"], nlohmann::json::array({2}));
  key(Qt::Key_T);
  EXPECT_EQ(selection().step, 2);
  key(Qt::Key_T, Qt::ShiftModifier);
  EXPECT_EQ(selection().step, 1);
  key(Qt::Key_BracketRight);
  EXPECT_EQ(selection().ranks, std::vector<int>{0});
  key(Qt::Key_Escape);
  EXPECT_TRUE(selection().ranks.empty());
}

TEST_F(MainWindowTest, SpaceFoldsTheSelectedRank) {
  show_small();
  const size_t rows = window.session().tracks.layout().rows.size();
  key(Qt::Key_Space);
  EXPECT_NE(window.session().tracks.layout().rows.size(), rows);
  key(Qt::Key_Space);
  EXPECT_EQ(window.session().tracks.layout().rows.size(), rows);
}

TEST_F(MainWindowTest, TheWheelZoomsPansAndScrolls) {
  show_small();
  const Interval before = range();
  const TraceNs under = window.session().viewport.scale().time_of(300);
  wheel(120, Qt::ControlModifier);
  EXPECT_LT(range().length(), before.length());
  EXPECT_NEAR(window.session().viewport.scale().pixel_of(under), 300, 1);
  const Interval zoomed = range();
  wheel(-120, Qt::ShiftModifier);
  EXPECT_GT(range().begin, zoomed.begin);
  EXPECT_EQ(range().length(), zoomed.length());
  window.resize(1280, 400);
  QCoreApplication::processEvents();
  wheel(-120, Qt::NoModifier);
  EXPECT_GT(window.session().tracks.scroll(), 0);
}

TEST_F(MainWindowTest, ADragSelectsARange) {
  show_small();
  Canvas& canvas = window.canvas();
  QTest::mousePress(&canvas, Qt::LeftButton, {}, {100, 10});
  QTest::mouseMove(&canvas, {200, 10});
  QTest::mouseRelease(&canvas, Qt::LeftButton, {}, {200, 10});
  ASSERT_TRUE(selection().range);
  const view::TimeScale scale = window.session().viewport.scale();
  EXPECT_EQ(scale.pixel_of(selection().range->begin), 100);
  EXPECT_NEAR(scale.pixel_of(selection().range->end), 201, 1);
}

TEST_F(MainWindowTest, AMiddleDragPans) {
  show_small();
  key(Qt::Key_W);
  const TraceNs under = window.session().viewport.scale().time_of(400);
  QTest::mousePress(&window.canvas(), Qt::MiddleButton, {}, {400, 200});
  QTest::mouseMove(&window.canvas(), {350, 200});
  QTest::mouseRelease(&window.canvas(), Qt::MiddleButton, {}, {350, 200});
  EXPECT_NEAR(window.session().viewport.scale().pixel_of(under), 350, 1);
}

TEST_F(MainWindowTest, HoverFollowsTheMouse) {
  show_small();
  const view::Row* row = window.session().tracks.layout().of_rank(0);
  ASSERT_NE(row, nullptr);
  const int y = view::kHeaderHeight + row->y + view::kBarTop + 4 - window.session().tracks.scroll();
  QTest::mouseMove(&window.canvas(), {300, y});
  ASSERT_TRUE(window.session().tracks.hover());
  EXPECT_EQ(window.session().tracks.hover()->rank_index, 0);
  EXPECT_NE(state()["hover"], nullptr);
}

TEST_F(MainWindowTest, LettersInAFieldStayThere) {
  show_small();
  const Interval before = range();
  auto* field = window.findChild<QLineEdit*>();
  ASSERT_NE(field, nullptr);
  field->setFocus();
  QTest::keyClicks(field, "wasdn0t");
  EXPECT_EQ(field->text(), "wasdn0t");
  EXPECT_EQ(range(), before);
  EXPECT_EQ(selection().finding, 0U);
}

TEST_F(MainWindowTest, GoToTakesSelectorsAndExplains) {
  show_small();
  key(Qt::Key_G);
  auto* field = qobject_cast<QLineEdit*>(QApplication::focusWidget());
  ASSERT_NE(field, nullptr);
  QTest::keyClicks(field, "step:2");
  QTest::keyClick(field, Qt::Key_Return);
  EXPECT_EQ(selection().step, 2);
  EXPECT_TRUE(state()["messages"].empty());
  field->setText("step:77");
  QTest::keyClick(field, Qt::Key_Return);
  EXPECT_EQ(state()["messages"].size(), 1U);
}

TEST_F(MainWindowTest, AClickOnACardSelectsItsFinding) {
  show_small();
  const Interval before = range();
  key(Qt::Key_0);
  QWidget* cards = window.docks().pane(view::Dock::kFindings).viewport();
  QTest::mouseClick(cards, Qt::LeftButton, {}, {5, 5});  // beside the cards
  EXPECT_EQ(range(), window.session().viewport.whole());
  QTest::mouseClick(cards, Qt::LeftButton, {}, {40, 20});
  EXPECT_EQ(selection().finding, 0U);
  EXPECT_EQ(range(), before);
}

TEST_F(MainWindowTest, BothThemesAndSizesPaint) {
  show_small();
  const QImage light = window.grab().toImage();
  look.set_theme(view::dark_theme());
  window.refresh();
  const QImage dark = window.grab().toImage();
  EXPECT_EQ(light.size(), dark.size());
  EXPECT_NE(light, dark);
  window.resize(640, 400);
  EXPECT_FALSE(window.grab().isNull());
}

TEST_F(MainWindowTest, PagesByKeyAndACellByMouse) {
  show_small();
  key(Qt::Key_3, Qt::ControlModifier);
  EXPECT_EQ(state()["page"], "heatmap");
  EXPECT_TRUE(window.heatmap().isVisible());
  EXPECT_FALSE(window.canvas().isVisible());
  window.grab();  // a page is laid out when it is painted
  const view::Box map = window.heatmap().page().map;
  ASSERT_GT(map.w, 0);
  const QPoint last_cell(map.x + map.w - 2, map.y + map.h - 2);
  QTest::mouseClick(&window.heatmap(), Qt::LeftButton, {}, last_cell);
  EXPECT_EQ(selection().ranks, std::vector<int>{2});
  EXPECT_EQ(selection().step, 2);
  QTest::mouseDClick(&window.heatmap(), Qt::LeftButton, {}, last_cell);
  EXPECT_EQ(state()["page"], "timeline");
  EXPECT_TRUE(window.canvas().isVisible());
}

TEST_F(MainWindowTest, ALineOfCollectivesIsShownOnTheTimeline) {
  show_small();
  key(Qt::Key_4, Qt::ControlModifier);
  EXPECT_EQ(state()["page"], "collectives");
  QWidget* lines = window.page_pane(view::Page::kCollectives).viewport();
  QTest::mouseClick(lines, Qt::LeftButton, {}, QPoint(60, 70 + 22 + 10));
  EXPECT_EQ(selection().collective, 1U);
  QTest::mouseDClick(lines, Qt::LeftButton, {}, QPoint(60, 70 + 10));
  EXPECT_EQ(state()["page"], "timeline");
  EXPECT_EQ(selection().collective, 0U);
  EXPECT_LE(range().begin, TraceNs{50 * view::test::kMs});
}

TEST_F(MainWindowTest, DocksByKeyAndTheirLinksByMouse) {
  show_small();
  EXPECT_EQ(state()["dock"], "selection");
  for (const view::DockInfo& dock : view::kDocks) {
    const QKeySequence keys(to_qstring(dock.key));
    key(keys[0].key(), keys[0].keyboardModifiers());
    EXPECT_EQ(state()["dock"], std::string(dock.word));
    EXPECT_TRUE(window.docks().is_seen(*view::dock_of(dock.word))) << dock.word;
    EXPECT_FALSE(window.grab().isNull());
  }
  key(Qt::Key_5, Qt::AltModifier);
  QWidget* table = window.docks().pane(view::Dock::kTable).viewport();
  QTest::mouseClick(table, Qt::LeftButton, {}, QPoint(60, 34 + 22 + 22 + 10));
  ASSERT_TRUE(selection().slice);
  EXPECT_EQ(name_of(window.session().model(), *selection().slice), "input");
  key(Qt::Key_1, Qt::ControlModifier);
  QTest::mouseDClick(table, Qt::LeftButton, {}, QPoint(60, 34 + 22 + 10));
  EXPECT_EQ(state()["page"], "timeline") << "what is double-clicked is shown there";
}

TEST_F(MainWindowTest, TheSameStateGivesTheSamePixels) {
  show_small();
  const QImage once = window.grab().toImage();
  window.refresh();
  EXPECT_EQ(once, window.grab().toImage());
}

TEST_F(MainWindowTest, AScreenReaderReadsTheRows) {
  QAccessibleInterface* canvas = QAccessible::queryAccessibleInterface(&window.canvas());
  ASSERT_NE(canvas, nullptr);
  EXPECT_EQ(canvas->childCount(), 0) << "nothing is open";
  show_small();
  ASSERT_EQ(canvas->childCount(), static_cast<int>(window.session().tracks.layout().rows.size()));
  const auto child = [&](std::string_view track) -> QAccessibleInterface* {
    const std::vector<view::Row>& rows = window.session().tracks.layout().rows;
    return canvas->child(
        static_cast<int>(std::ranges::find(rows, track, &view::Row::track) - rows.begin()));
  };
  ASSERT_TRUE(window.select("rank:2", false).ok());
  QAccessibleInterface* rank = child("rank:2");
  ASSERT_NE(rank, nullptr);
  EXPECT_EQ(rank->text(QAccessible::Name), QStringLiteral("rank 2"));
  EXPECT_TRUE(rank->text(QAccessible::Value).contains(QStringLiteral("in view")));
  EXPECT_TRUE(rank->state().selected);
  EXPECT_EQ(rank->parent(), canvas);
  EXPECT_EQ(canvas->indexOfChild(rank), canvas->childCount() - 3);
  EXPECT_EQ(canvas->childAt(rank->rect().center().x(), rank->rect().center().y()), rank);
  key(Qt::Key_Space);  // folded: its threads are gone
  QAccessibleInterface* gone = canvas->child(canvas->childCount());
  EXPECT_EQ(gone, nullptr);
}

// What is said twice is no progress: a reader that hangs says the same again and again.
TEST_F(MainWindowTest, OnlyWhatIsNewIsProgress) {
  OpeningPane pane(look);
  pane.begin();
  EXPECT_TRUE(pane.show_progress("1 of 8 ranks read", 0.1));
  EXPECT_FALSE(pane.show_progress("1 of 8 ranks read", 0.1));
  EXPECT_TRUE(pane.show_progress("2 of 8 ranks read", 0.2));
  pane.fail({Code::kIo, "gone", ""});
  ASSERT_TRUE(pane.error());
  pane.begin();
  EXPECT_FALSE(pane.error());
}

// Before the whole analysis: marked as preliminary, and gone when another run is opened.
TEST_F(MainWindowTest, TheFirstLookIsShownWhileARunIsOpened) {
  OpeningPane pane(look);
  const auto shown = [&] { return view::to_text(pane.draw(800, 600)); };
  pane.begin();
  EXPECT_FALSE(pane.has_first_look());
  analyzer::FirstLook first{.ranks = 1024, .steps = {}, .slow = {}};
  first.steps.emplace().count = 100;
  first.steps->median_ns = 80'000'000;
  first.slow.emplace().push_back({517, "node-64", 7'900'000});
  pane.show_first(first);
  EXPECT_NE(shown().find("100 steps · median 80"), std::string::npos) << shown();
  EXPECT_NE(shown().find("rank 517 on node-64: own delay 7.9 ms per step"), std::string::npos);
  EXPECT_NE(shown().find("preliminary"), std::string::npos);
  first.slow->clear();
  pane.show_first(first);
  EXPECT_NE(shown().find("no rank's own work stands out"), std::string::npos);
  pane.begin();
  EXPECT_FALSE(pane.has_first_look());
  EXPECT_EQ(shown().find("preliminary"), std::string::npos);
}

TEST_F(MainWindowTest, OpensARunAndDescribesARow) {
  const test_support::TemporaryFolder folder;
  ASSERT_TRUE(test_support::write_run(folder.path() / "run", {}).ok());
  QSignalSpy settled(&window, &MainWindow::settled);
  window.open({folder.path() / "run"});
  ASSERT_TRUE(settled.wait(20'000));
  ASSERT_TRUE(window.session().is_open());
  ASSERT_TRUE(window.select("row:0/collective/3", false).ok());
  EXPECT_EQ(window.pending(), 2) << "what it is, and what it led to";
  EXPECT_TRUE(QTest::qWaitFor([&] { return window.pending() == 0; }, 20'000));
  EXPECT_EQ(state()["pending"], 0);
  EXPECT_NE(view::to_text(window.draw_list()).find("row:0/collective/3"), std::string::npos);
}

// A run can be looked at before its events are there, and what was looked at meanwhile stays.
TEST_F(MainWindowTest, EventsComeAfterTheRun) {
  const test_support::TemporaryFolder folder;
  ASSERT_TRUE(test_support::write_run(folder.path() / "run", {}).ok());
  QSignalSpy settled(&window, &MainWindow::settled);
  window.open({folder.path() / "run"});
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.session().is_open(); }, 20'000));
  const auto model = window.session().shared_model();
  EXPECT_FALSE(model->ranks.back().events->loaded);
  EXPECT_EQ(settled.count(), 0);
  window.session().selecting.select_rank(1);
  window.refresh();
  ASSERT_TRUE(settled.wait(20'000));
  EXPECT_EQ(window.session().shared_model(), model);
  for (const view::RankModel& rank : model->ranks) EXPECT_TRUE(rank.events->loaded);
  EXPECT_EQ(window.session().selecting.selection().ranks, std::vector<int>{1});
  EXPECT_GT(model->slices(), 0);
}

TEST_F(MainWindowTest, EventsThatCannotBeReadAreSaid) {
  const test_support::TemporaryFolder folder;
  const auto run = folder.path() / "run";
  ASSERT_TRUE(test_support::write_run(run, {}).ok());
  QSignalSpy settled(&window, &MainWindow::settled);
  window.open({run});
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.session().is_open(); }, 20'000));
  std::filesystem::remove(run / "rank-00001.dprof");
  ASSERT_TRUE(settled.wait(20'000));
  EXPECT_FALSE(window.session().model().ranks[1].events->loaded);
  EXPECT_NE(window.state().find("rank-00001.dprof"), std::string::npos);
  EXPECT_FALSE(window.error());
}

TEST_F(MainWindowTest, ADockOfManyEventsIsCountedBesideTheFrames) {
  window.show_model(view::test::model_with_many_events());
  window.session().viewport.show_all();
  window.session().selecting.clear();
  window.session().dock = view::Dock::kTable;
  window.refresh();
  EXPECT_TRUE(window.session().events.is_counting_list());
  EXPECT_GT(window.pending(), 0);
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.pending() == 0; }, 20'000));
  EXPECT_FALSE(window.session().events.is_counting_list());
  EXPECT_EQ(window.session().events.list().events.size(), view::kMostListed);
}

TEST_F(MainWindowTest, OpeningAnotherRunDropsTheFirst) {
  const test_support::TemporaryFolder folder;
  test_support::RunSpec second;
  second.ranks = 3;
  ASSERT_TRUE(test_support::write_run(folder.path() / "first", {}).ok());
  ASSERT_TRUE(test_support::write_run(folder.path() / "second", second).ok());
  QSignalSpy settled(&window, &MainWindow::settled);
  window.open({folder.path() / "first"});
  window.open({folder.path() / "second"});
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.pending() == 0; }, 20'000));
  EXPECT_EQ(settled.count(), 1);
  ASSERT_TRUE(window.session().is_open());
  EXPECT_EQ(window.session().model().ranks.size(), 3U);
}

TEST_F(MainWindowTest, ADroppedRunIsOpenedAndReadAgain) {
  const test_support::TemporaryFolder folder;
  ASSERT_TRUE(test_support::write_run(folder.path() / "run", {}).ok());
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(to_qstring((folder.path() / "run").string()))});
  QSignalSpy settled(&window, &MainWindow::settled);
  QDragEnterEvent enter({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&window, &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&window, &drop);
  ASSERT_TRUE(settled.wait(20'000));
  ASSERT_TRUE(window.session().is_open());
  const auto first = window.session().shared_model();
  key(Qt::Key_F5);
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.session().shared_model() != first; }, 20'000));
  EXPECT_EQ(window.session().model().ranks.size(), first->ranks.size());
}

TEST_F(MainWindowTest, TextThatIsDroppedIsNoRun) {
  QMimeData data;
  data.setText(QStringLiteral("hello"));
  QDragEnterEvent enter({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  enter.setAccepted(false);
  QApplication::sendEvent(&window, &enter);
  EXPECT_FALSE(enter.isAccepted());
}

TEST_F(MainWindowTest, AnUnreadableRunIsShownInPlace) {
  QSignalSpy settled(&window, &MainWindow::settled);
  window.open({"/nowhere/at/all"});
  ASSERT_TRUE(settled.wait(20'000));
  ASSERT_TRUE(window.error());
  EXPECT_FALSE(window.error()->hint.empty());
  EXPECT_FALSE(window.session().is_open());
  show_small();
  EXPECT_FALSE(window.error());
}

}  // namespace
}  // namespace dprof::widgets
