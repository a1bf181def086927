// SPDX-License-Identifier: Apache-2.0
// Docks that are moved, taken out of the window and closed.
#include <gtest/gtest.h>

#include <QApplication>
#include <QLabel>
#include <QMenu>
#include <QSettings>
#include <QTest>
#include <QToolButton>

#include "gui/view/model/test_support/test_model.h"
#include "gui/widgets/dock_title.h"
#include "gui/widgets/main_window.h"
#include "gui/widgets/sql_pane.h"
#include "tests/support/temporary_folder.h"

namespace dprof::widgets {
namespace {

using view::Dock;

class DocksTest : public ::testing::Test {
 protected:
  DocksTest() : look(view::light_theme()) {
    QSettings::setDefaultFormat(QSettings::IniFormat);
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope,
                       QString::fromStdString(folder.path().string()));
    QCoreApplication::setOrganizationName(QStringLiteral("test"));
    window = new_window();
  }

  [[nodiscard]] std::unique_ptr<MainWindow> new_window() {
    auto made = std::make_unique<MainWindow>(look);
    made->resize(1600, 900);
    made->recall_layout();
    made->show();
    made->activateWindow();
    EXPECT_TRUE(QTest::qWaitForWindowActive(made.get()));
    made->show_model(view::test::shared_small_model());
    settle();
    return made;
  }
  // Layouts ask for layouts: after a few rounds nothing is left to be done.
  static void settle() {
    constexpr int kRounds = 10;
    for (int round = 0; round < kRounds; ++round) QTest::qWait(1);
  }

  [[nodiscard]] Docks& docks() { return window->docks(); }
  [[nodiscard]] std::vector<Dock> seen() {
    std::vector<Dock> all;
    for (size_t d = 0; d < view::kDocks.size(); ++d) {
      if (docks().is_seen(static_cast<Dock>(d))) all.push_back(static_cast<Dock>(d));
    }
    return all;
  }
  [[nodiscard]] QDockWidget& frame(Dock dock) {
    return *docks().findChild<QDockWidget*>(to_qstring(view::info_of(dock).word));
  }
  // The bar with a dock's tab, and where it is in it.
  [[nodiscard]] std::pair<QTabBar*, int> tab_of(Dock dock) {
    for (QTabBar* bar : docks().findChildren<QTabBar*>(Qt::FindDirectChildrenOnly)) {
      for (int tab = 0; tab < bar->count(); ++tab) {
        if (bar->tabText(tab) == frame(dock).windowTitle()) return {bar, tab};
      }
    }
    return {nullptr, -1};
  }
  void click_tab(Dock dock, bool twice = false) {
    const auto [bar, tab] = tab_of(dock);
    ASSERT_NE(bar, nullptr);
    const QPoint at = bar->tabRect(tab).center();
    QTest::mouseClick(bar, Qt::LeftButton, {}, at);
    if (twice) QTest::mouseDClick(bar, Qt::LeftButton, {}, at);
    settle();
  }
  void run(const char* command) {
    for (QAction* action : window->actions()) {
      if (action->text() == QString::fromLatin1(command)) action->trigger();
    }
    settle();
  }

  test_support::TemporaryFolder folder;
  Look look;
  std::unique_ptr<MainWindow> window;
};

TEST_F(DocksTest, OneOfEachSideIsSeen) {
  EXPECT_EQ(seen(), (std::vector<Dock>{Dock::kSelection, Dock::kFindings}));
  click_tab(Dock::kFlame);
  EXPECT_EQ(window->session().dock, Dock::kFlame);
  click_tab(Dock::kDetails);
  EXPECT_EQ(seen(), (std::vector<Dock>{Dock::kFlame, Dock::kDetails}));
  EXPECT_FALSE(frame(Dock::kSelection).widget()->isEnabled()) << "Tab would walk through it";
  EXPECT_TRUE(frame(Dock::kFlame).widget()->isEnabled());
}

TEST_F(DocksTest, TabsOfSeveralNeedNoTitle) {
  const auto title = [&](Dock dock) { return frame(dock).findChild<DockTitle*>()->height(); };
  EXPECT_EQ(title(Dock::kSelection), 0);
  EXPECT_EQ(title(Dock::kFindings), 0);
  docks().put_away(Dock::kDetails);
  settle();
  EXPECT_EQ(title(Dock::kFindings), 0) << "the path is beside it";
  docks().put_away(Dock::kPath);
  settle();
  EXPECT_GT(title(Dock::kFindings), 0) << "now that it has no tab";
}

TEST_F(DocksTest, IsTakenOutOfTheWindowBesideTheOthersAndBack) {
  click_tab(Dock::kTable, true);
  ASSERT_TRUE(docks().is_floating(Dock::kTable));
  EXPECT_TRUE(frame(Dock::kTable).isWindow());
  click_tab(Dock::kFlame);
  EXPECT_EQ(seen(), (std::vector<Dock>{Dock::kTable, Dock::kFlame, Dock::kFindings}));
  // Both follow the selection.
  const QImage before = docks().pane(Dock::kTable).grab().toImage();
  ASSERT_TRUE(window->select("rank:0", false).ok());
  EXPECT_NE(docks().pane(Dock::kTable).grab().toImage(), before);
  // The one with the keyboard is in use, and the window's keys work there.
  frame(Dock::kTable).activateWindow();
  docks().pane(Dock::kTable).setFocus();
  ASSERT_TRUE(QTest::qWaitFor([&] { return docks().pane(Dock::kTable).hasFocus(); }, 5'000));
  EXPECT_EQ(window->session().dock, Dock::kTable);
  QTest::keyClick(&docks().pane(Dock::kTable), Qt::Key_T);
  EXPECT_TRUE(window->session().selecting.selection().step);

  frame(Dock::kTable).findChild<DockTitle*>()->findChild<QToolButton*>()->click();
  settle();
  EXPECT_FALSE(docks().is_floating(Dock::kTable));
  EXPECT_EQ(seen(), (std::vector<Dock>{Dock::kTable, Dock::kFindings}));
}

TEST_F(DocksTest, WhatNoLongerSharesItsPlaceHasNoTabs) {
  docks().put_away(Dock::kPath);
  click_tab(Dock::kDetails, true);
  EXPECT_TRUE(docks().is_floating(Dock::kDetails));
  EXPECT_GT(frame(Dock::kFindings).findChild<DockTitle*>()->height(), 0);
  click_tab(Dock::kTable, true);
  run("Detach the dock from the window, or put it back");
  EXPECT_FALSE(docks().is_floating(Dock::kTable));
  docks().move_out_or_back(Dock::kDetails);
  settle();
  EXPECT_EQ(seen(), (std::vector<Dock>{Dock::kTable, Dock::kDetails}));
  EXPECT_EQ(frame(Dock::kFindings).findChild<DockTitle*>()->height(), 0);
}

TEST_F(DocksTest, OnlyWhatTheUserMovedStaysWhereItIs) {
  window->show_page(view::Page::kHeatmap);
  QTest::mouseClick(&window->heatmap(), Qt::LeftButton, {}, QPoint(200, 150));
  click_tab(Dock::kFlame);
  EXPECT_TRUE(docks().state().isEmpty());
  // The line between page and docks is dragged.
  const QPoint line(200, docks().centralWidget()->geometry().bottom() + 2);
  const int before = docks().centralWidget()->height();
  QTest::mousePress(&docks(), Qt::LeftButton, {}, line);
  QTest::mouseMove(&docks(), line - QPoint(0, 60));
  settle();
  QTest::mouseRelease(&docks(), Qt::LeftButton, {}, line - QPoint(0, 60));
  settle();
  EXPECT_LT(docks().centralWidget()->height(), before);
  EXPECT_FALSE(docks().state().isEmpty());
}

TEST_F(DocksTest, IsClosedAndComesBackByItsKey) {
  run("Close the dock");
  EXPECT_TRUE(frame(Dock::kSelection).isHidden());
  ASSERT_TRUE(window->select("rank:0", false).ok());
  EXPECT_TRUE(frame(Dock::kSelection).isHidden()) << "only the user opens it";
  window->press(QStringLiteral("Alt+4"));
  settle();
  EXPECT_TRUE(docks().is_seen(Dock::kSelection));

  docks().put_away(Dock::kDetails);
  ASSERT_TRUE(window->select("row:0/host_range/3", false).ok());
  settle();
  EXPECT_TRUE(frame(Dock::kDetails).isHidden());
}

TEST_F(DocksTest, AllOfThemCanBeClosed) {
  for (size_t d = 0; d < view::kDocks.size(); ++d) docks().put_away(static_cast<Dock>(d));
  window->press(QStringLiteral("Alt+1"));
  settle();
  EXPECT_TRUE(seen().empty());
  EXPECT_EQ(window->canvas().width(), window->width());
  window->press(QStringLiteral("F6"));
  run("Reset the layout");
  EXPECT_EQ(seen(), (std::vector<Dock>{Dock::kSelection, Dock::kFindings}));
  EXPECT_LT(window->canvas().width(), window->width() - 500);
}

TEST_F(DocksTest, AreThereTheNextDayAsTheyWere) {
  const QSize first = docks().pane(Dock::kSelection).size();
  click_tab(Dock::kFlame, true);
  frame(Dock::kFlame).resize(500, 400);
  docks().put_away(Dock::kHistogram);
  docks().addDockWidget(Qt::LeftDockWidgetArea, &frame(Dock::kTable));
  window->press(QStringLiteral("Alt+4"));
  docks().resizeDocks({&frame(Dock::kSelection)}, {400}, Qt::Vertical);
  settle();
  const QSize changed = docks().pane(Dock::kSelection).size();
  EXPECT_GT(changed.height(), first.height());
  window->close();

  window = new_window();
  EXPECT_TRUE(docks().is_floating(Dock::kFlame));
  EXPECT_EQ(frame(Dock::kFlame).size(), QSize(500, 400));
  EXPECT_TRUE(frame(Dock::kHistogram).isHidden());
  EXPECT_EQ(docks().dockWidgetArea(&frame(Dock::kTable)), Qt::LeftDockWidgetArea);
  EXPECT_EQ(docks().pane(Dock::kSelection).size(), changed);

  run("Reset the layout");
  EXPECT_FALSE(docks().is_floating(Dock::kFlame));
  EXPECT_EQ(docks().pane(Dock::kSelection).size(), first);
  window->close();
  window = new_window();
  EXPECT_EQ(seen(), (std::vector<Dock>{Dock::kSelection, Dock::kFindings}));
}

TEST_F(DocksTest, ARememberedLayoutThatMakesNoSenseIsPassedOver) {
  window->close();
  QSettings().setValue(QStringLiteral("window/docks"), QByteArray("\0\1nonsense", 10));
  window = new_window();
  EXPECT_EQ(seen(), (std::vector<Dock>{Dock::kSelection, Dock::kFindings}));
}

TEST_F(DocksTest, InASmallWindowAllAreBelow) {
  window->resize(1200, 700);
  settle();
  EXPECT_EQ(seen(), std::vector<Dock>{Dock::kSelection});
  EXPECT_EQ(tab_of(Dock::kFindings).first, tab_of(Dock::kInfo).first);
  // Details do not hide the list in which an event was chosen.
  click_tab(Dock::kTable);
  ASSERT_TRUE(window->select("row:0/host_range/3", false).ok());
  settle();
  EXPECT_EQ(seen(), std::vector<Dock>{Dock::kTable});
  window->resize(1600, 900);
  settle();
  EXPECT_EQ(seen(), (std::vector<Dock>{Dock::kTable, Dock::kFindings}));
}

TEST_F(DocksTest, ATabHasAMenu) {
  const auto [bar, tab] = tab_of(Dock::kInfo);
  emit bar->customContextMenuRequested(bar->tabRect(tab).center());
  auto* menu = docks().findChild<QMenu*>();
  ASSERT_NE(menu, nullptr);
  QStringList words;
  for (const QAction* action : menu->actions()) words << action->text();
  EXPECT_EQ(words.size(), static_cast<qsizetype>(view::kDocks.size()) + 3);
  EXPECT_EQ(words[0], QStringLiteral("Take out of the window"));
  menu->actions()[1]->trigger();
  settle();
  EXPECT_TRUE(frame(Dock::kInfo).isHidden());
}

}  // namespace
}  // namespace dprof::widgets
