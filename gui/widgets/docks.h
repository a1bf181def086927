// SPDX-License-Identifier: Apache-2.0
// The docks below the page: tabs, and of the docks the one that is shown.
#pragma once

#include <QStackedWidget>
#include <QTabBar>
#include <vector>

#include "gui/view/session.h"
#include "gui/widgets/panes.h"

namespace dprof::widgets {

class SqlPane;

class Docks : public QWidget {
  Q_OBJECT

 public:
  Docks(view::Session& session, Look& look, QWidget* parent = nullptr);
  // Shows what the session says; those that are not shown are drawn when they come.
  void refresh();
  [[nodiscard]] ScrollPane& pane(view::Dock dock) { return *panes_[static_cast<size_t>(dock)]; }
  [[nodiscard]] SqlPane& sql() { return *sql_; }

 signals:
  void changed();  // the session has changed
  void drawn();    // there may be something to count
  void followed(const dprof::view::Link& link, bool twice);

 private:
  [[nodiscard]] view::Panel draw(view::Dock dock, int width, int height, int top) const;

  view::Session& session_;
  Look& look_;
  QTabBar* tabs_ = nullptr;
  QStackedWidget* stack_ = nullptr;
  std::vector<ScrollPane*> panes_;  // by view::Dock
  SqlPane* sql_ = nullptr;
};

}  // namespace dprof::widgets
