// SPDX-License-Identifier: Apache-2.0
// Export… in the window: what is written, what is refused, what is cancelled.
#include "gui/widgets/export_dialog.h"

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>
#include <QToolButton>
#include <fstream>
#include <sstream>

#include "gui/widgets/main_window.h"
#include "tests/support/run_builder.h"
#include "tests/support/temporary_folder.h"

namespace dprof::widgets {
namespace {

namespace fs = std::filesystem;
constexpr int kExportTimeoutMs = 20'000;

class ExportDialogTest : public ::testing::Test {
 protected:
  ExportDialogTest() : run(folder.path() / "run"), look(view::light_theme()), window(look) {
    EXPECT_TRUE(test_support::write_run(run, {}).ok());
    window.resize(1280, 720);
    window.show();
    window.activateWindow();
    EXPECT_TRUE(QTest::qWaitForWindowActive(&window));
    QSignalSpy settled(&window, &MainWindow::settled);
    window.open({run});
    EXPECT_TRUE(settled.wait(kExportTimeoutMs));
  }
  ExportDialog& dialog() {
    EXPECT_TRUE(window.press(QStringLiteral("Ctrl+E")));
    return *window.findChild<ExportDialog*>();
  }
  static void fill(ExportDialog& dialog, const char* field, const std::string& text) {
    dialog.findChild<QLineEdit*>(QLatin1String(field))->setText(QString::fromStdString(text));
  }
  static std::string text_in(const ExportDialog& dialog, const char* field) {
    return dialog.findChild<QLineEdit*>(QLatin1String(field))->text().toStdString();
  }
  static void choose(ExportDialog& dialog, analyzer::ExportFormat format) {
    dialog.findChild<QComboBox*>()->setCurrentIndex(static_cast<int>(format));
  }
  static void press_start(ExportDialog& dialog) {
    QTest::mouseClick(dialog.findChild<QPushButton*>(QStringLiteral("export_start")),
                      Qt::LeftButton);
  }
  static bool has_ended(const ExportDialog& dialog) {
    return QTest::qWaitFor([&] { return !dialog.is_writing(); }, kExportTimeoutMs);
  }
  static std::string message(const ExportDialog& dialog) {
    return dialog.findChild<QLabel*>(QStringLiteral("export_message"))->text().toStdString();
  }
  static std::string content(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }

  test_support::TemporaryFolder folder;
  fs::path run;
  Look look;
  MainWindow window;
};

TEST_F(ExportDialogTest, WritesTheChosenRanksAndStepsBesideTheRun) {
  ExportDialog& asked = dialog();
  choose(asked, analyzer::ExportFormat::kCsv);
  EXPECT_EQ(text_in(asked, "export_place"), (folder.path() / "run.csv").string());
  fill(asked, "export_ranks", "1");
  fill(asked, "export_steps", "3:5");
  press_start(asked);
  EXPECT_TRUE(asked.is_writing());
  ASSERT_TRUE(has_ended(asked));
  EXPECT_NE(message(asked).find("run.csv: "), std::string::npos) << message(asked);
  const std::string steps = content(folder.path() / "run.csv" / "step.csv");
  EXPECT_NE(steps.find("\n1,"), std::string::npos);
  EXPECT_EQ(steps.find("\n0,"), std::string::npos);
  EXPECT_EQ(std::ranges::count(steps, '\n'), 1 + 2) << steps;
  EXPECT_FALSE(asked.grab().isNull());
}

TEST_F(ExportDialogTest, TakesRanksAndStepsOfTheSelection) {
  ASSERT_TRUE(window.select("rank:1", false).ok());
  view::Selection selection = window.session().selecting.selection();
  selection.step = 7;
  window.session().selecting.set(selection);
  ExportDialog& asked = dialog();
  EXPECT_EQ(text_in(asked, "export_ranks"), "");
  asked.findChild<QToolButton*>(QStringLiteral("export_selection"))->click();
  EXPECT_EQ(text_in(asked, "export_ranks"), "1");
  EXPECT_EQ(text_in(asked, "export_steps"), "7:8");
}

TEST_F(ExportDialogTest, ARangeIsTheStepsThatItTouches) {
  const view::Model& model = window.session().model();
  view::Selection selection;
  const auto middle = [&](size_t step) {
    const Interval window = model.steps[step].window;
    return TraceNs{(window.begin.ns + window.end.ns) / 2};
  };
  selection.range = Interval{middle(2), middle(3)};
  EXPECT_EQ(part_of(model, selection).steps, "2:4");
  EXPECT_EQ(part_of(model, selection).ranks, "");
}

TEST_F(ExportDialogTest, SaysInASentenceWhatIsWrong) {
  ExportDialog& asked = dialog();
  fill(asked, "export_ranks", "one");
  press_start(asked);
  EXPECT_FALSE(asked.is_writing());
  EXPECT_NE(message(asked).find("'one' is not a list of ranks"), std::string::npos);
  fill(asked, "export_ranks", "9");
  press_start(asked);
  ASSERT_TRUE(has_ended(asked));
  EXPECT_NE(message(asked).find("no trace of rank 9"), std::string::npos) << message(asked);
  fill(asked, "export_ranks", "");
  fill(asked, "export_place", (folder.path() / "missing" / "x.gz").string());
  press_start(asked);
  ASSERT_TRUE(has_ended(asked));
  EXPECT_NE(message(asked).find("cannot be written"), std::string::npos) << message(asked);
}

TEST_F(ExportDialogTest, AFileIsReplacedOnlyOnceThatWasSaid) {
  const fs::path file = folder.path() / "run.folded";
  std::ofstream(file) << "mine";
  ExportDialog& asked = dialog();
  choose(asked, analyzer::ExportFormat::kFolded);
  press_start(asked);
  EXPECT_FALSE(asked.is_writing());
  EXPECT_NE(message(asked).find("is there already"), std::string::npos);
  EXPECT_EQ(content(file), "mine");
  press_start(asked);
  ASSERT_TRUE(has_ended(asked));
  EXPECT_NE(content(file), "mine");
}

TEST_F(ExportDialogTest, CancelLeavesNothing) {
  ExportDialog& asked = dialog();
  choose(asked, analyzer::ExportFormat::kChrome);
  press_start(asked);
  press_start(asked);  // it is Cancel now
  ASSERT_TRUE(has_ended(asked));
  EXPECT_EQ(message(asked), "Cancelled: nothing was written.");
  EXPECT_FALSE(fs::exists(folder.path() / "run.chrome"));
  press_start(asked);
  ASSERT_TRUE(has_ended(asked));
  EXPECT_TRUE(fs::exists(folder.path() / "run.chrome"));
}

TEST_F(ExportDialogTest, ClosingItEndsTheExport) {
  ExportDialog& asked = dialog();
  choose(asked, analyzer::ExportFormat::kCsv);
  press_start(asked);
  asked.reject();
  EXPECT_TRUE(QTest::qWaitFor([&] { return window.findChild<ExportDialog*>() == nullptr; },
                              kExportTimeoutMs));
  EXPECT_FALSE(fs::exists(folder.path() / "run.csv"));
}

}  // namespace
}  // namespace dprof::widgets
