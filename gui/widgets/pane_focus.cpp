// SPDX-License-Identifier: Apache-2.0
// Which part of the window has the keyboard: F6 goes round, and the window fills the screen.
#include <QAction>
#include <QApplication>

#include "gui/widgets/main_window.h"
#include "gui/widgets/sql_pane.h"

namespace dprof::widgets {

// In the order in which they are read: tracks, page, the docks that are seen.
void MainWindow::focus_pane(int by) {
  const auto page = static_cast<size_t>(session_.page());
  QWidget* of_page = canvas_;
  if (session_.page() == view::Page::kHeatmap) of_page = heatmap_;
  if (page_panes_[page] != nullptr) of_page = page_panes_[page];
  std::vector<QWidget*> panes = {filter_, of_page};
  for (size_t d = 0; d < view::kDocks.size(); ++d) {
    const auto dock = static_cast<view::Dock>(d);
    if (docks_->is_seen(dock)) panes.push_back(&docks_->field_of(dock));
  }
  const QWidget* const now = QApplication::focusWidget();
  const auto count = static_cast<int>(panes.size());
  int at = by > 0 ? -1 : count;
  for (int i = 0; i < count; ++i) {
    if (now != nullptr &&
        (panes[static_cast<size_t>(i)] == now || panes[static_cast<size_t>(i)]->isAncestorOf(now)))
      at = i;
  }
  for (int step = 0; step < count; ++step) {
    at = (at + by + count) % count;
    QWidget* pane = panes[static_cast<size_t>(at)];
    if (!pane->isVisible()) continue;
    pane->activateWindow();  // a dock may have one of its own
    pane->setFocus(Qt::TabFocusReason);
    return;
  }
}

void MainWindow::add_focus_actions() {
  add_action(tr("Next part of the window"), {Qt::Key_F6}, [this] { focus_pane(1); });
  add_action(tr("Previous part of the window"), {QKeySequence("Shift+F6")},
             [this] { focus_pane(-1); });
  add_action(tr("Full screen"), {Qt::Key_F11},
             [this] { setWindowState(windowState() ^ Qt::WindowFullScreen); });
  for (const int by : {-1, 1}) {
    QAction* action = add_action(by < 0 ? tr("On the timeline: the event around this one")
                                        : tr("On the timeline: the first event within this one"),
                                 {QKeySequence(by < 0 ? "Ctrl+Up" : "Ctrl+Down")},
                                 [this, by] { session_.next_depth(by); });
    action->setShortcutContext(Qt::WidgetShortcut);
    canvas_->addAction(action);
  }
}

}  // namespace dprof::widgets
