// SPDX-License-Identifier: Apache-2.0
// The page, and the docks around it: tabs that can be moved to another side, taken out of the
// window, and closed.
#pragma once

#include <QDockWidget>
#include <QMainWindow>
#include <QTimer>
#include <array>

#include "gui/view/session/session.h"
#include "gui/widgets/panes.h"

class QTabBar;

namespace dprof::widgets {

class DockTitle;
class SqlPane;

class Docks : public QMainWindow {
  Q_OBJECT

 public:
  // Takes over the page.
  Docks(view::Session& session, Look& look, QWidget* page, QWidget* parent = nullptr);

  // Shows what the session says; docks that nobody sees are drawn when they come.
  void refresh();
  // Shows the trace's fields of the selected row.
  void describe(const view::Fields& fields);

  [[nodiscard]] ScrollPane& pane(view::Dock dock) { return *of(dock).pane; }
  [[nodiscard]] SqlPane& sql() { return *sql_; }
  // The part of a dock that takes the keyboard.
  [[nodiscard]] QWidget& field_of(view::Dock dock);
  // The dock that a widget is a part of.
  [[nodiscard]] std::optional<view::Dock> dock_with(const QWidget* widget) const;
  // Not closed, and no other tab before it.
  [[nodiscard]] bool is_seen(view::Dock dock) const;
  [[nodiscard]] bool is_floating(view::Dock dock) const { return of(dock).frame->isFloating(); }

  // Before the other tabs; opened if it was closed.
  void bring(view::Dock dock);
  // Likewise, unless it was closed, or would hide the dock that was shown last.
  void offer(view::Dock dock);
  // Out of the window, or back to its place there.
  void move_out_or_back(view::Dock dock);
  void put_away(view::Dock dock);

  // The sizes of the design for a window of this size, unless they were changed by hand. In small
  // windows all docks are below the page.
  void arrange(QSize window);
  // All where they were at first.
  void reset(QSize window);
  // The places of all of them; empty while they are as at first.
  [[nodiscard]] QByteArray state() const;
  // Restores what state() returned; what makes no sense changes nothing.
  void recall(const QByteArray& state);

  QMenu* createPopupMenu() override;

 signals:
  void changed();  // the session has changed
  void drawn();    // there may be something to count
  void followed(const dprof::view::Link& link, bool twice);

 protected:
  bool event(QEvent* event) override;

 private:
  struct Place {
    QDockWidget* frame = nullptr;
    DockTitle* title = nullptr;
    ScrollPane* pane = nullptr;
    bool seen = true;
  };

  [[nodiscard]] Place& of(view::Dock dock) { return places_[static_cast<size_t>(dock)]; }
  [[nodiscard]] const Place& of(view::Dock dock) const {
    return places_[static_cast<size_t>(dock)];
  }
  template <typename Is>
  [[nodiscard]] std::optional<view::Dock> dock_whose_frame(const Is& is) const;
  // From now on it is the one in use, and in front already.
  void use(view::Dock dock);
  void add(view::Dock dock);
  void place_all(bool narrow);
  void dress(QTabBar& tabs);
  [[nodiscard]] std::optional<view::Dock> dock_of_tab(const QTabBar& tabs, int tab) const;
  void show_menu(view::Dock dock, QPoint global);
  // After docks have been moved, opened or closed.
  void look_again();

  view::Session& session_;
  Look& look_;
  std::array<Place, view::kDocks.size()> places_;  // by view::Dock
  SqlPane* sql_ = nullptr;
  view::Fields fields_;
  std::optional<view::Dock> brought_;  // the session's, the last time
  QTimer look_again_;                  // when the window's layout is done
  bool by_hand_ = false;               // whether changes of places are the user's
  bool moved_by_hand_ = false;
  std::optional<bool> narrow_;
  QObject alive_;  // for what the application says while a base of this is destroyed
};

}  // namespace dprof::widgets
