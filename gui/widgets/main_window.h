// SPDX-License-Identifier: Apache-2.0
// The window: top bar, tracks, the page and its docks, status bar. It passes events to the session
// and refreshes what changed.
#pragma once

#include <QElapsedTimer>
#include <QLineEdit>
#include <QMainWindow>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabBar>
#include <array>
#include <optional>
#include <vector>

#include "gui/view/panels.h"
#include "gui/view/session/session.h"
#include "gui/widgets/canvas.h"
#include "gui/widgets/commands.h"
#include "gui/widgets/docks.h"
#include "gui/widgets/event_loader.h"
#include "gui/widgets/go_to_field.h"
#include "gui/widgets/heatmap_pane.h"
#include "gui/widgets/opening_pane.h"
#include "gui/widgets/run_watch.h"
#include "gui/widgets/view_keeper.h"
#include "gui/widgets/worker.h"

namespace dprof::widgets {

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(Look& look, QWidget* parent = nullptr);

  void open(std::vector<std::filesystem::path> paths, analyzer::AnalysisOptions options = {});
  // Opens another run beside the one that is open, for the page Compare.
  void compare_with(std::vector<std::filesystem::path> paths,
                    analyzer::AnalysisOptions options = {});
  // Shows a run that is in memory already.
  void show_model(std::shared_ptr<const view::Model> model);
  Status select(const std::string& selector, bool keep);
  void show_page(view::Page page);
  // The next event (by > 0) or the one before whose name contains the text; false = there is none.
  bool search(const std::string& text, int by);
  // Asks the traces, and shows the dock SQL; the answer comes later.
  void run_sql(const std::string& statement);
  // As if the keys had been pressed: "F", "Shift+N", "Ctrl+3". False if nothing has them.
  bool press(const QString& keys) { return commands_->press(keys); }

  [[nodiscard]] view::Session& session() { return session_; }
  [[nodiscard]] const view::Session& session() const { return session_; }
  [[nodiscard]] Canvas& canvas() { return *canvas_; }
  [[nodiscard]] HeatmapPane& heatmap() { return *heatmap_; }
  // A page that scrolls: not the timeline, nor Ranks × steps.
  [[nodiscard]] ScrollPane& page_pane(view::Page page) {
    return *page_panes_[static_cast<size_t>(page)];
  }
  [[nodiscard]] Docks& docks() { return *docks_; }
  [[nodiscard]] const std::optional<Error>& error() const { return opening_->error(); }
  [[nodiscard]] bool has_first_look() const { return opening_->has_first_look(); }
  [[nodiscard]] const std::optional<Error>& compare_error() const { return compare_error_; }
  [[nodiscard]] int pending() const { return worker_.pending() + asking_.pending(); }
  // Everything painted of the page: of the timeline static layer and overlay.
  [[nodiscard]] view::DrawList draw_list();
  [[nodiscard]] std::string state() const;
  // Size and place as they were when such a window was last closed, and remembers them from now on.
  void recall_layout();
  void reset_layout();
  // From now on a run opens as it was last looked at, and that is kept beside it.
  void keep_views() { views_.keep(); }
  // As a saved view says.
  Status restore_view(const std::filesystem::path& file);
  // The open run once more, without losing what is looked at.
  void read_again();
  // The memory that events may take.
  void set_event_budget(view::EventBudget budget) { events_.set_budget(budget); }
  // All panes again, after the session was changed from outside.
  void refresh();

 signals:
  // A run is open with the events that are looked at, or could not be opened.
  void settled();
  // Something more of the run has been read, or what a dock or a page shows was computed.
  void progressed();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void build();
  QWidget* build_top();
  using StripPainter = view::Panel (*)(const view::Model& model, view::Selecting& selecting,
                                       int width, const view::TextMeasure& measure);
  ScrollPane* build_strip(StripPainter draw, int height, const char* name, const QString& title);
  QWidget* build_left();
  QWidget* build_centre();
  void build_pages();
  void connect_opening();
  void follow(const view::Link& link, bool twice);
  void connect_commands();
  void choose_run();
  void choose_recent();
  void show_export();
  void run_changed();
  void set_renewing(bool renewing);
  void renew_model(std::shared_ptr<const view::Model> model);
  void open_model(std::shared_ptr<const view::Model> model);
  void settle();
  void focus_pane(int by);
  void connect_sql();
  void ask_traces();
  void build_go_to();
  void go_to(const QString& selector);
  void run_command(const QString& text);
  void count_next();
  void describe_selection();
  void arrange();
  void place_page();
  void place_tracks();
  void set_message(const QString& text);

  Look& look_;
  view::Session session_;
  Worker worker_;
  EventLoader events_{session_, worker_};
  ViewKeeper views_{session_};
  SqlAsking asking_{session_, views_};
  KeyBindings keys_{*this, look_};
  Commands* commands_ = nullptr;
  RunWatch watch_;
  QElapsedTimer renewed_;
  bool renewing_ = false;
  Pane* top_ = nullptr;
  ScrollPane* failure_ = nullptr;  // a banner, where the run failed
  ScrollPane* notable_ = nullptr;  // of many ranks those that are worth a look
  GoToField* go_to_ = nullptr;
  QLineEdit* filter_ = nullptr;
  Tracks* tracks_ = nullptr;
  Overview* overview_ = nullptr;
  Canvas* canvas_ = nullptr;
  QTabBar* page_tabs_ = nullptr;
  QStackedWidget* pages_ = nullptr;
  HeatmapPane* heatmap_ = nullptr;
  std::array<ScrollPane*, view::kPages.size()> page_panes_{};  // nullptr: a pane of its own
  OpeningPane* opening_ = nullptr;
  QStackedWidget* all_of_run_ = nullptr;  // or what is said where none is open
  Docks* docks_ = nullptr;
  Pane* status_ = nullptr;
  QSplitter* columns_ = nullptr;  // tracks, and the page with its docks
  bool moved_by_hand_ = false;    // the tracks' width
  bool tracks_closed_ = false;
  bool remembers_ = false;
  std::optional<view::SlicePlace> described_;
  std::optional<Error> compare_error_;
  std::vector<std::filesystem::path> paths_;  // of the run that is open, or was to be
  analyzer::AnalysisOptions options_;
  QString stage_;  // of what is done beside the open run, or to open it; "" = nothing
  QString message_text_;
};

}  // namespace dprof::widgets
