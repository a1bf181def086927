// SPDX-License-Identifier: Apache-2.0
// The dock SQL's statements, from the field to the result.
#include "gui/view/docks/sql_dock.h"
#include "gui/view/result_track.h"
#include "gui/widgets/main_window.h"
#include "gui/widgets/sql_pane.h"

namespace dprof::widgets {

void MainWindow::connect_sql() {
  connect(&docks_->sql(), &SqlPane::run_wanted, this, &MainWindow::ask_traces);
  connect(&docks_->sql(), &SqlPane::cancel_wanted, this, &MainWindow::cancel_sql);
  connect(&sql_worker_, &Worker::asking, this, [this](const QString& stage, double) {
    sql_stage_ = stage;
    status_->refresh();
  });
  connect(&sql_worker_, &Worker::answered, this,
          [this](const std::shared_ptr<analyzer::SqlAnswer>& answer, DurationNs took) {
            sql_stage_.clear();
            // Outputs are the same each time, how long it took is not.
            session_.sql().take(std::move(*answer),
                                keeps_views_ ? std::optional(took) : std::nullopt);
            refresh();
          });
}

void MainWindow::run_sql(const std::string& statement) {
  if (!session_.is_open()) return;
  session_.sql().write(statement);
  session_.show_dock(view::Dock::kSql);
  ask_traces();
}

void MainWindow::ask_traces() {
  if (!session_.is_open()) return;
  set_message({});
  session_.sql().begin();
  sql_worker_.ask(session_.traces_to_ask(), session_.sql().text());
  refresh();
}

void MainWindow::cancel_sql() {
  sql_worker_.cancel_ask();
  sql_stage_.clear();
  session_.sql().cancel();
  refresh();
}

// The dock SQL with its field; keys never go to a field that is no longer there.
void MainWindow::show_dock(view::Dock dock) {
  const bool leaves_field = docks_->sql().field().hasFocus();
  session_.show_dock(dock);
  docks_->bring(dock);
  docks_->refresh();
  if (dock == view::Dock::kSql) {
    docks_->sql().field().setFocus();
  } else if (leaves_field) {
    canvas_->setFocus();
  }
}

void MainWindow::toggle_result_track() {
  if (session_.has_result_track()) {
    session_.remove_result_track();
    return;
  }
  const Status made = session_.make_result_track();
  if (!made.ok()) {
    set_message(to_qstring(made.error().what + ": " + made.error().hint));
  } else if (session_.page() != view::Page::kTimeline) {
    show_page(view::Page::kTimeline);
  }
}

void MainWindow::add_sql_actions() {
  add_action(tr("Run the SQL statement"), {QKeySequence("Ctrl+Return"), QKeySequence("Ctrl+Enter")},
             [this] {
               session_.show_dock(view::Dock::kSql);
               ask_traces();
             });
  for (const int by : {-1, 1}) {
    QAction* action = add_action(by < 0 ? tr("In its field: the SQL statement before")
                                        : tr("In its field: the SQL statement after"),
                                 {QKeySequence(by < 0 ? "Ctrl+Up" : "Ctrl+Down")},
                                 [this, by] { session_.sql().walk_history(by); });
    action->setShortcutContext(Qt::WidgetShortcut);
    docks_->sql().field().addAction(action);
    add_action(by < 0 ? tr("Previous row of the SQL result") : tr("Next row of the SQL result"),
               {QKeySequence(by < 0 ? "Alt+Up" : "Alt+Down")}, [this, by] {
                 if (!session_.next_result_line(by)) return;
                 docks_->refresh();
                 docks_->pane(view::Dock::kSql)
                     .reveal(view::box_of_result_line(session_, *session_.sql().line()));
               });
  }
  add_action(tr("Make a track from the SQL result, or remove it"), {QKeySequence("Ctrl+Shift+T")},
             [this] { toggle_result_track(); });
  add_action(
      tr("Remove the selected track made from a SQL result, or all of them"), {},
      [this] { session_.remove_result_tracks(); }, "remove-tracks");
  add_action(tr("Begin a SQL statement"), {Qt::Key_Colon},
             [this] { begin_in_field(QStringLiteral(":")); });
}

}  // namespace dprof::widgets
