// SPDX-License-Identifier: Apache-2.0
// The dock SQL in the window: typing, asking, history, results, tracks.
#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTest>
#include <QTextBlock>
#include <QTextLayout>
#include <nlohmann/json.hpp>

#include "gui/view/model/result_track.h"
#include "gui/widgets/main_window.h"
#include "gui/widgets/sql_pane.h"
#include "tests/support/run_builder.h"
#include "tests/support/temporary_folder.h"

namespace dprof::widgets {
namespace {

namespace fs = std::filesystem;
constexpr int kAskingTimeoutMs = 20'000;
constexpr const char* kForever =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

class SqlAskingTest : public ::testing::Test {
 protected:
  SqlAskingTest() : run(folder.path() / "run"), look(view::light_theme()), window(look) {
    EXPECT_TRUE(test_support::write_run(run, {}).ok());
    window.resize(1280, 720);
    window.keep_views();
    window.show();
    window.activateWindow();
    EXPECT_TRUE(QTest::qWaitForWindowActive(&window));
    QSignalSpy settled(&window, &MainWindow::settled);
    window.open({run});
    EXPECT_TRUE(settled.wait(kAskingTimeoutMs));
  }
  [[nodiscard]] nlohmann::json state() const { return nlohmann::json::parse(window.state()); }
  QPlainTextEdit& field() { return window.docks().sql().field(); }
  void key(QWidget& at, Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(&at, key, modifiers);
  }
  bool answered() {
    return QTest::qWaitFor([&] { return window.pending() == 0; }, kAskingTimeoutMs);
  }
  // As somebody at the keyboard does it, from the timeline on.
  void ask(const QString& statement) {
    key(window.canvas(), Qt::Key_8, Qt::AltModifier);
    ASSERT_TRUE(field().hasFocus());
    field().selectAll();
    QTest::keyClicks(&field(), statement);
    key(field(), Qt::Key_Return, Qt::ControlModifier);
    ASSERT_TRUE(answered());
  }

  test_support::TemporaryFolder folder;
  fs::path run;
  Look look;
  MainWindow window;
};

TEST_F(SqlAskingTest, TypingAsksAndLettersStayInTheField) {
  const Interval before = window.session().viewport.range();
  ask(QStringLiteral("SELECT count(*) AS n, 'wasd+-0' FROM step"));
  EXPECT_EQ(window.session().viewport.range(), before);
  const nlohmann::json sql = state()["sql"];
  EXPECT_EQ(sql["query"], "SELECT count(*) AS n, 'wasd+-0' FROM step");
  EXPECT_EQ(sql["columns"], nlohmann::json::array({"rank", "n", "'wasd+-0'"}));
  EXPECT_EQ(sql["rows"], 2);
  EXPECT_EQ(sql["first_rows"][1], nlohmann::json::array({1, 30, "wasd+-0"}));
  EXPECT_EQ(sql["error"], nullptr);
  EXPECT_EQ(state()["dock"], "sql");
  EXPECT_FALSE(window.grab().isNull());
}

TEST_F(SqlAskingTest, AnErrorIsBesideTheResultBefore) {
  ask(QStringLiteral("SELECT 7"));
  ask(QStringLiteral("SELECT strat_ns FROM step"));
  EXPECT_EQ(state()["sql"]["rows"], 2);
  EXPECT_EQ(state()["sql"]["error_offset"], 7);
  EXPECT_NE(state()["sql"]["error"].dump().find("strat_ns"), std::string::npos);
  ask(QStringLiteral("DELETE FROM step"));
  EXPECT_NE(state()["sql"]["error"].dump().find("never written"), std::string::npos);
}

TEST_F(SqlAskingTest, TheHistoryIsWalkedInTheField) {
  ask(QStringLiteral("SELECT 1"));
  ask(QStringLiteral("SELECT 2"));
  key(field(), Qt::Key_Up, Qt::ControlModifier);
  EXPECT_EQ(field().toPlainText(), QStringLiteral("SELECT 1"));
  key(field(), Qt::Key_Down, Qt::ControlModifier);
  EXPECT_EQ(field().toPlainText(), QStringLiteral("SELECT 2"));
  window.canvas().setFocus();
  key(window.canvas(), Qt::Key_Up, Qt::ControlModifier);
  EXPECT_EQ(field().toPlainText(), QStringLiteral("SELECT 2")) << "only in the field";
}

TEST_F(SqlAskingTest, EscapeEndsAStatementThenLeavesTheField) {
  key(window.canvas(), Qt::Key_8, Qt::AltModifier);
  field().setPlainText(QString::fromLatin1(kForever));
  key(field(), Qt::Key_Return, Qt::ControlModifier);
  EXPECT_TRUE(window.session().sql.is_asking());
  EXPECT_EQ(window.findChild<QToolButton*>(QStringLiteral("run_sql"))->text(), "Cancel");
  key(field(), Qt::Key_Escape);
  EXPECT_FALSE(window.session().sql.is_asking());
  EXPECT_TRUE(answered()) << "it ends soon";
  EXPECT_EQ(window.session().sql.result(), nullptr);
  EXPECT_FALSE(window.session().sql.error()) << "it was wanted so";
  EXPECT_TRUE(field().hasFocus());
  key(field(), Qt::Key_Escape);
  EXPECT_TRUE(window.canvas().hasFocus());
}

TEST_F(SqlAskingTest, ANewStatementEndsTheOneThatIsRunning) {
  window.run_sql(kForever);
  window.run_sql("SELECT 5");
  ASSERT_TRUE(answered());
  EXPECT_EQ(state()["sql"]["first_rows"][0], nlohmann::json::array({0, 5}));
  EXPECT_EQ(window.session().sql.history().size(), 2U);
}

TEST_F(SqlAskingTest, ALongStatementKeepsNothingElseWaiting) {
  window.run_sql(kForever);
  ASSERT_TRUE(window.select("row:0/collective/3", false).ok());
  EXPECT_TRUE(QTest::qWaitFor([&] { return window.pending() == 1; }, kAskingTimeoutMs))
      << "the row is described meanwhile";
  window.open({run});
  EXPECT_TRUE(answered()) << "another run ends it";
}

TEST_F(SqlAskingTest, TheWindowsFieldTakesAStatement) {
  key(window.canvas(), Qt::Key_Colon);
  auto* go_to = window.findChild<QLineEdit*>(QStringLiteral("go_to"));
  ASSERT_TRUE(go_to->hasFocus());
  EXPECT_EQ(go_to->text(), QStringLiteral(":"));
  QTest::keyClicks(go_to, QStringLiteral(" SELECT max(step_index) AS last FROM step"));
  key(*go_to, Qt::Key_Return);
  ASSERT_TRUE(answered());
  EXPECT_EQ(state()["dock"], "sql");
  EXPECT_EQ(state()["sql"]["first_rows"][0], nlohmann::json::array({0, 29}));
  EXPECT_EQ(field().toPlainText(), QStringLiteral("SELECT max(step_index) AS last FROM step"));
}

TEST_F(SqlAskingTest, TheButtonRunsAndTheResultIsWalkedAndCopied) {
  key(window.canvas(), Qt::Key_8, Qt::AltModifier);
  field().setPlainText(QStringLiteral("SELECT id FROM collective LIMIT 2"));
  QTest::mouseClick(window.findChild<QToolButton*>(QStringLiteral("run_sql")), Qt::LeftButton);
  ASSERT_TRUE(answered());
  key(field(), Qt::Key_Down, Qt::AltModifier);
  key(field(), Qt::Key_Down, Qt::AltModifier);
  const auto& slice = window.session().selecting.selection().slice;
  ASSERT_TRUE(slice);
  EXPECT_EQ(view::selector_of(window.session().model(), *slice), "row:0/collective/2");
  key(field(), Qt::Key_Up, Qt::AltModifier);
  EXPECT_EQ(view::selector_of(window.session().model(), *slice), "row:0/collective/1");
  key(window.canvas(), Qt::Key_C, Qt::ControlModifier);
  EXPECT_EQ(QApplication::clipboard()->text(),
            QStringLiteral("rank\tid\n0\t1\n0\t2\n1\t1\n1\t2\n"));
}

TEST_F(SqlAskingTest, ATrackIsACommand) {
  window.run_sql("SELECT 1");
  ASSERT_TRUE(answered());
  const auto run_command = [&](const char* name) {
    for (QAction* action : window.actions()) {
      if (action->text().contains(QString::fromLatin1(name))) action->trigger();
    }
  };
  run_command("Make a track");
  EXPECT_NE(state()["messages"].dump().find("no times"), std::string::npos);
  window.run_sql("-- steps\nSELECT start_ns, end_ns FROM step");
  ASSERT_TRUE(answered());
  run_command("Make a track");
  EXPECT_NE(window.state().find("rank:1/sql:steps"), std::string::npos);
  key(field(), Qt::Key_T, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(window.state().find("rank:1/sql:steps"), std::string::npos);
  key(field(), Qt::Key_T, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_NE(window.state().find("rank:1/sql:steps"), std::string::npos);
  run_command("Remove the selected track made");
  EXPECT_EQ(window.state().find("rank:1/sql:steps"), std::string::npos);
}

TEST_F(SqlAskingTest, StatementsAreThereTheNextDay) {
  ask(QStringLiteral("SELECT 1"));
  window.close();
  ASSERT_TRUE(fs::exists(run / "dprofview.json"));
  MainWindow tomorrow(look);
  tomorrow.keep_views();
  QSignalSpy settled(&tomorrow, &MainWindow::settled);
  tomorrow.open({run});
  ASSERT_TRUE(settled.wait(kAskingTimeoutMs));
  EXPECT_EQ(tomorrow.session().sql.text(), "SELECT 1");
  EXPECT_EQ(tomorrow.session().sql.history(), std::vector<std::string>{"SELECT 1"});
  EXPECT_EQ(tomorrow.docks().sql().field().toPlainText(), QStringLiteral("SELECT 1"));
}

TEST_F(SqlAskingTest, TheFieldGrowsWithItsText) {
  key(window.canvas(), Qt::Key_8, Qt::AltModifier);
  const int least = field().height();
  field().setPlainText(QStringLiteral("SELECT 1,\n2,\n3,\n4"));
  QCoreApplication::processEvents();
  const int four = field().height();
  EXPECT_GT(four, least);
  field().setPlainText(QStringLiteral("SELECT ") + QStringLiteral("1234567 + ").repeated(60));
  QCoreApplication::processEvents();
  EXPECT_GT(field().height(), least) << "also where one line is broken";
  field().setPlainText(QStringLiteral("\n").repeated(50));
  QCoreApplication::processEvents();
  EXPECT_GE(field().height(), four);
  EXPECT_LT(field().height(), window.docks().height() / 2) << "room is left for the result";
}

TEST_F(SqlAskingTest, ADockThatIsLeftKeepsNoKeys) {
  key(window.canvas(), Qt::Key_8, Qt::AltModifier);
  ASSERT_TRUE(field().hasFocus());
  key(field(), Qt::Key_9, Qt::AltModifier);
  EXPECT_TRUE(window.canvas().hasFocus());
  EXPECT_FALSE(field().accessibleName().isEmpty());
}

// The colour that a letter of the field has.
QColor colour_at(QPlainTextEdit& field, int block, int letter) {
  const auto formats = field.document()->findBlockByNumber(block).layout()->formats();
  for (const QTextLayout::FormatRange& range : formats) {
    if (range.start <= letter && letter < range.start + range.length)
      return range.format.foreground().color();
  }
  return {};
}

TEST_F(SqlAskingTest, TheFieldIsColoured) {
  key(window.canvas(), Qt::Key_8, Qt::AltModifier);
  field().setPlainText(
      QStringLiteral("select x1, 12 from t -- 13\nwhere a = 'it''s /* 5' /* open\n 6 */ and 7"));
  const auto at = [&](int block, int letter) { return colour_at(field(), block, letter); };
  const QColor keyword = look.colour(view::Role::kAccent);
  const QColor number = look.colour(view::Role::kInfoText);
  const QColor string = look.colour(view::Role::kWarnText);
  const QColor comment = look.colour(view::Role::kTextFaint);
  EXPECT_EQ(at(0, 0), keyword);
  EXPECT_EQ(at(0, 8), QColor()) << "the number of a name is none";
  EXPECT_EQ(at(0, 11), number);
  EXPECT_EQ(at(0, 24), comment);
  EXPECT_EQ(at(1, 20), string);
  EXPECT_EQ(at(1, 26), comment);
  EXPECT_EQ(at(2, 1), comment);
  EXPECT_EQ(at(2, 6), keyword);
  look.set_theme(view::dark_theme());
  window.refresh();
  EXPECT_EQ(at(0, 0), look.colour(view::Role::kAccent)) << "in the theme's colours";
}

}  // namespace
}  // namespace dprof::widgets
