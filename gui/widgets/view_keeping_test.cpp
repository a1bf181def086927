// SPDX-License-Identifier: Apache-2.0
// What stays of how a run was looked at, and runs that change while they are open.
#include <gtest/gtest.h>

#include <QLineEdit>
#include <QSignalSpy>
#include <QTest>
#include <fstream>

#include "gui/widgets/main_window.h"
#include "schema/trace_writer.h"
#include "tests/support/run_builder.h"
#include "tests/support/temporary_folder.h"

namespace dprof::widgets {
namespace {

namespace fs = std::filesystem;
constexpr int kTimeoutMs = 20'000;

class ViewKeepingTest : public ::testing::Test {
 protected:
  // A window as a user has it.
  struct Opened {
    explicit Opened(const fs::path& run) : look(view::light_theme()), window(look) {
      window.resize(1280, 720);
      window.keep_views();
      window.show();
      QSignalSpy settled(&window, &MainWindow::settled);
      window.open({run});
      EXPECT_TRUE(settled.wait(kTimeoutMs));
      EXPECT_TRUE(window.session().is_open());
    }
    void write_note(const QString& text) {
      EXPECT_TRUE(window.press(QStringLiteral("M")));
      auto* field = window.findChild<QLineEdit*>(QStringLiteral("go_to"));
      ASSERT_NE(field, nullptr);
      field->setText(field->text() + text);
      QTest::keyClick(field, Qt::Key_Return);
    }
    Look look;
    MainWindow window;
  };

  test_support::TemporaryFolder folder;
};

TEST_F(ViewKeepingTest, NotesAndPinsAreThereTheNextDay) {
  const fs::path run = folder.path() / "run";
  ASSERT_TRUE(test_support::write_run(run, {}).ok());
  view::SavedView left;
  {
    Opened today(run);
    EXPECT_FALSE(fs::exists(run / "dprofview.json")) << "looking alone writes nothing";
    ASSERT_TRUE(today.window.select("rank:1", false).ok());
    ASSERT_TRUE(today.window.press(QStringLiteral("P")));
    today.write_note(QStringLiteral("here it begins"));
    left = today.window.session().saved_view();
    today.window.close();
  }
  ASSERT_TRUE(fs::exists(run / "dprofview.json"));
  const Opened tomorrow(run);
  const view::Session& session = tomorrow.window.session();
  EXPECT_EQ(session.saved_view(), left);
  ASSERT_EQ(session.notes.all().size(), 1U);
  EXPECT_EQ(session.notes.all().front().text, "here it begins");
  EXPECT_EQ(session.tracks.arrangement().pinned, std::vector<std::string>{"rank:1"});
}

TEST_F(ViewKeepingTest, ADamagedViewNeverBlocksOpening) {
  const fs::path run = folder.path() / "run";
  ASSERT_TRUE(test_support::write_run(run, {}).ok());
  std::ofstream(run / "dprofview.json") << "{\"schema\": \"dprof.view/99\"}";
  const Opened opened(run);
  EXPECT_TRUE(opened.window.session().is_as_opened());
  EXPECT_NE(opened.window.state().find("another dprof"), std::string::npos) << "it is said";
}

// A trace as it is while it is recorded: rows are committed, and it has no end.
class Recording {
 public:
  explicit Recording(const fs::path& path) {
    auto created = schema::TraceWriter::create(path);
    EXPECT_TRUE(created.ok());
    writer_ = *std::move(created);
    writer_->set_meta("rank", "0");
    writer_->set_meta("world_size", "1");
    writer_->set_meta("run_id", "live");
    EXPECT_TRUE(
        writer_->append(schema::ThreadRow{.id = 1, .os_tid = 7, .role = schema::ThreadRole::kMain})
            .ok());
  }
  void add_steps(int64_t count) {
    constexpr int64_t kStep = 10'000'000;
    for (int64_t i = 0; i < count; ++i, ++steps_) {
      EXPECT_TRUE(writer_
                      ->append(schema::HostRangeRow{.id = steps_ + 1,
                                                    .thread_id = 1,
                                                    .start_ns = steps_ * kStep,
                                                    .duration_ns = kStep,
                                                    .name_id = writer_->intern("step")})
                      .ok());
    }
    EXPECT_TRUE(writer_->commit().ok());
  }
  void end() {
    writer_->set_meta("ended", "complete");
    EXPECT_TRUE(writer_->finish().ok());
  }

 private:
  std::unique_ptr<schema::TraceWriter> writer_;
  int64_t steps_ = 0;
};

TEST_F(ViewKeepingTest, ARunThatIsBeingRecordedIsFollowed) {
  const fs::path run = folder.path() / "live";
  fs::create_directories(run);
  Recording recording(run / "rank-00000.dprof");
  recording.add_steps(20);
  Opened opened(run);
  const view::Session& session = opened.window.session();
  const auto slices = [&] { return session.model().slices(); };
  EXPECT_EQ(slices(), 20);
  recording.add_steps(10);
  ASSERT_TRUE(QTest::qWaitFor([&] { return slices() == 30; }, kTimeoutMs));
  EXPECT_NE(opened.window.state().find("still being recorded"), std::string::npos);

  ASSERT_TRUE(opened.window.select("range:50ms..90ms", false).ok());
  const Interval looked_at = session.viewport.range();
  recording.add_steps(10);
  ASSERT_TRUE(QTest::qWaitFor([&] { return slices() == 40; }, kTimeoutMs));
  EXPECT_EQ(session.viewport.range(), looked_at) << "what is looked at stays";

  recording.end();
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return opened.window.state().find("still being recorded") == std::string::npos; },
      kTimeoutMs));
  EXPECT_EQ(slices(), 40);
}

TEST_F(ViewKeepingTest, AFinishedRunThatChangesIsOnlyPointedOut) {
  const fs::path run = folder.path() / "run";
  ASSERT_TRUE(test_support::write_run(run, {}).ok());
  const Opened opened(run);
  const auto before = opened.window.session().shared_model();
  fs::last_write_time(run / "rank-00000.dprof", fs::file_time_type::clock::now());
  std::ofstream(run / "rank-00000.dprof", std::ios::app) << "";
  fs::permissions(run / "rank-00000.dprof", fs::perms::owner_all);
  EXPECT_TRUE(QTest::qWaitFor(
      [&] { return opened.window.state().find("changed on disk") != std::string::npos; },
      kTimeoutMs));
  EXPECT_EQ(opened.window.session().shared_model(), before);
}

}  // namespace
}  // namespace dprof::widgets
