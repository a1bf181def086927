// SPDX-License-Identifier: Apache-2.0
// The window: top bar, tracks, time bar and timeline, findings and details, the selection's table,
// status bar. It passes events to the session and refreshes what changed.
#pragma once

#include <QLineEdit>
#include <QMainWindow>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabBar>
#include <functional>
#include <optional>
#include <vector>

#include "gui/view/pages/collectives_page.h"
#include "gui/view/pages/overview_page.h"
#include "gui/view/panels.h"
#include "gui/view/session.h"
#include "gui/widgets/canvas.h"
#include "gui/widgets/heatmap_pane.h"
#include "gui/widgets/worker.h"

namespace dprof::widgets {

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(Look& look, QWidget* parent = nullptr);

  void open(std::vector<std::filesystem::path> paths, analyzer::AnalysisOptions options = {});
  // Shows a run that is in memory already.
  void show_model(std::shared_ptr<const view::Model> model);
  Status select(const std::string& selector, bool keep);
  void show_page(view::Page page);

  [[nodiscard]] view::Session& session() { return session_; }
  [[nodiscard]] const view::Session& session() const { return session_; }
  [[nodiscard]] Canvas& canvas() { return *canvas_; }
  [[nodiscard]] HeatmapPane& heatmap() { return *heatmap_; }
  [[nodiscard]] ScrollPane& collectives() { return *collectives_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  [[nodiscard]] int pending() const { return worker_.pending(); }
  // Everything painted of the page: of the timeline static layer and overlay.
  [[nodiscard]] view::DrawList draw_list() const;
  [[nodiscard]] std::string state() const;
  // All panes again, after the session was changed from outside.
  void refresh();

 signals:
  void settled();  // a run is open, or could not be opened

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void build();
  QWidget* build_top();
  QWidget* build_left();
  QWidget* build_centre();
  QWidget* build_overview();
  void build_collectives();
  QWidget* build_right();
  QTabBar* make_tabs(const QStringList& names);
  void add_actions();
  void add_action(const QString& text, const QList<QKeySequence>& keys, std::function<void()> run);
  void show_keys();
  void go_to();
  void describe_selection();
  void arrange();
  void place_page();
  void zoom(bool in, int anchor);
  void set_message(const QString& text);

  Look& look_;
  view::Session session_;
  Worker worker_;
  Pane* top_ = nullptr;
  QLineEdit* go_to_ = nullptr;
  QLineEdit* filter_ = nullptr;
  Tracks* tracks_ = nullptr;
  Overview* overview_ = nullptr;
  Canvas* canvas_ = nullptr;
  QTabBar* page_tabs_ = nullptr;
  QStackedWidget* pages_ = nullptr;
  HeatmapPane* heatmap_ = nullptr;
  ScrollPane* summary_ = nullptr;  // the page Overview
  std::vector<view::OverviewPage::Line> summary_ranks_;
  ScrollPane* collectives_ = nullptr;
  std::vector<view::CollectivesPage::Choice> orders_;
  Pane* message_ = nullptr;
  QStackedWidget* centre_stack_ = nullptr;
  QTabBar* right_tabs_ = nullptr;
  QStackedWidget* right_stack_ = nullptr;
  ScrollPane* findings_ = nullptr;
  ScrollPane* details_ = nullptr;
  QTabBar* bottom_tabs_ = nullptr;
  QStackedWidget* bottom_stack_ = nullptr;
  ScrollPane* table_ = nullptr;
  ScrollPane* diagnostics_ = nullptr;
  Pane* status_ = nullptr;
  QSplitter* columns_ = nullptr;
  QSplitter* centre_ = nullptr;
  std::vector<view::Box> cards_;
  view::Fields fields_;
  std::optional<view::SlicePlace> described_;
  std::optional<Error> error_;
  QString stage_;
  double share_ = 0;
  QString message_text_;
};

}  // namespace dprof::widgets
