// SPDX-License-Identifier: Apache-2.0
// What the window remembers from one day to the next: its size and place, and those of its parts
// where the user has moved them.
#include <QCloseEvent>
#include <QSettings>

#include "gui/widgets/main_window.h"

namespace dprof::widgets {
namespace {

constexpr int kVersion = 2;  // of what is remembered; another one is ignored

constexpr auto kVersionKey = "window/version";
constexpr auto kGeometryKey = "window/geometry";
constexpr auto kColumnsKey = "window/columns";
constexpr auto kDocksKey = "window/docks";
constexpr auto kTracksClosedKey = "window/tracks_closed";

}  // namespace

void MainWindow::recall_layout() {
  remembers_ = true;
  list_recent();
  recall_keys();
  const QSettings settings;
  if (settings.value(kVersionKey).toInt() != kVersion) return;
  restoreGeometry(settings.value(kGeometryKey).toByteArray());
  tracks_closed_ = settings.value(kTracksClosedKey).toBool();
  moved_by_hand_ = columns_->restoreState(settings.value(kColumnsKey).toByteArray());
  docks_->recall(settings.value(kDocksKey).toByteArray());
}

void MainWindow::reset_layout() {
  moved_by_hand_ = false;
  tracks_closed_ = false;
  docks_->reset(size());
  arrange();
}

void MainWindow::closeEvent(QCloseEvent* event) {
  save_view();
  if (remembers_) {
    QSettings settings;
    settings.setValue(kVersionKey, kVersion);
    settings.setValue(kGeometryKey, saveGeometry());
    settings.setValue(kColumnsKey, moved_by_hand_ ? columns_->saveState() : QByteArray());
    settings.setValue(kDocksKey, docks_->state());
    settings.setValue(kTracksClosedKey, tracks_closed_);
  }
  QMainWindow::closeEvent(event);
}

}  // namespace dprof::widgets
