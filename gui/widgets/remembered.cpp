// SPDX-License-Identifier: Apache-2.0
// What the window remembers from one day to the next: its size and place, and those of its parts
// where the user has moved them.
#include <QCloseEvent>
#include <QSettings>

#include "gui/widgets/main_window.h"

namespace dprof::widgets {
namespace {

constexpr int kVersion = 1;  // of what is remembered; another one is ignored

constexpr auto kVersionKey = "window/version";
constexpr auto kGeometryKey = "window/geometry";
constexpr auto kColumnsKey = "window/columns";
constexpr auto kCentreKey = "window/centre";

}  // namespace

void MainWindow::recall_layout() {
  remembers_ = true;
  list_recent();
  recall_keys();
  const QSettings settings;
  if (settings.value(kVersionKey).toInt() != kVersion) return;
  restoreGeometry(settings.value(kGeometryKey).toByteArray());
  const QByteArray columns = settings.value(kColumnsKey).toByteArray();
  const QByteArray centre = settings.value(kCentreKey).toByteArray();
  if (columns.isEmpty() || centre.isEmpty()) return;
  moved_by_hand_ = columns_->restoreState(columns) && centre_->restoreState(centre);
}

void MainWindow::reset_layout() {
  moved_by_hand_ = false;
  arrange();
}

void MainWindow::closeEvent(QCloseEvent* event) {
  save_view();
  if (remembers_) {
    QSettings settings;
    settings.setValue(kVersionKey, kVersion);
    settings.setValue(kGeometryKey, saveGeometry());
    settings.setValue(kColumnsKey, moved_by_hand_ ? columns_->saveState() : QByteArray());
    settings.setValue(kCentreKey, moved_by_hand_ ? centre_->saveState() : QByteArray());
  }
  QMainWindow::closeEvent(event);
}

}  // namespace dprof::widgets
