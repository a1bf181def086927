// SPDX-License-Identifier: Apache-2.0
// The window's commands: each is one of its QActions, so the list of keys is made from them; and
// the menu of what is selected.
#pragma once

#include <QAction>
#include <QLineEdit>
#include <functional>
#include <optional>

#include "gui/view/session/session.h"
#include "gui/widgets/canvas.h"
#include "gui/widgets/docks.h"
#include "gui/widgets/go_to_field.h"
#include "gui/widgets/key_bindings.h"
#include "gui/widgets/sql_asking.h"

class QKeyEvent;

namespace dprof::widgets {

// The parts of the window that they use.
struct CommandParts {
  Canvas& canvas;
  Tracks& tracks;
  QLineEdit& filter;
  Docks& docks;
  GoToField& go_to;
  SqlAsking& asking;
  KeyBindings& keys;
};

class Commands : public QObject {
  Q_OBJECT

 public:
  Commands(const CommandParts& parts, view::Session& session, Look& look, QWidget& window);

  // As if the keys had been pressed: "F", "Shift+N", "Ctrl+3". False if nothing has them.
  bool press(const QString& keys);
  // Zooms and pans by W, A, S, D, wherever these are on the keyboard. False: another key.
  bool follow(const QKeyEvent& event);

 signals:
  void changed();  // the session has changed
  void remarked(const QString& text);
  // Requests to the window.
  void open_wanted();
  void recent_wanted();
  void export_wanted();
  void read_again_wanted();
  void layout_reset();
  void tracks_toggled();
  void focus_moved(int by);

 private:
  void add_view_actions();
  void add_selection_actions();
  void add_path_actions();
  void add_track_actions();
  void add_sql_actions();
  void add_window_actions();
  void add_focus_actions();
  // A command without keys needs a word by which the keys that it is bound to are remembered.
  QAction* add_action(const QString& text, const QList<QKeySequence>& keys,
                      std::function<void()> run, const char* word = "");
  void zoom(bool in, int anchor);
  void next_along(int by);
  void explain_step(std::optional<int64_t> step);
  void show_dock(view::Dock dock);
  void toggle_result_track();
  void save_picture();
  void save_events();
  void save_view_as();
  void show_menu_at(QPoint global);
  [[nodiscard]] QString manual_section() const;

  view::Session& session_;
  Look& look_;
  QWidget& window_;
  Canvas& canvas_;
  Tracks& tracks_;
  QLineEdit& filter_;
  Docks& docks_;
  GoToField& go_to_;
  SqlAsking& asking_;
  KeyBindings& keys_;
  QList<QAction*> about_selection_;  // for its menu
};

}  // namespace dprof::widgets
