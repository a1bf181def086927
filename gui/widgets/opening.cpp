// SPDX-License-Identifier: Apache-2.0
// Runs that the user opens: from a dialog, by dropping them on the window, once more.
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QMimeData>

#include "gui/widgets/main_window.h"

namespace dprof::widgets {
namespace {

std::vector<std::filesystem::path> files_in(const QMimeData& data) {
  std::vector<std::filesystem::path> files;
  const QList<QUrl> urls = data.urls();
  for (const QUrl& url : urls) {
    if (url.isLocalFile()) files.emplace_back(url.toLocalFile().toStdString());
  }
  return files;
}

}  // namespace

void MainWindow::choose_run() {
  const QString last = paths_.empty() ? QString() : to_qstring(paths_.front().string());
  const QString folder = QFileDialog::getExistingDirectory(this, tr("The folder of a run"), last);
  if (!folder.isEmpty()) open({folder.toStdString()});
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (!files_in(*event->mimeData()).empty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  std::vector<std::filesystem::path> files = files_in(*event->mimeData());
  if (files.empty()) return;
  event->acceptProposedAction();
  open(std::move(files));
}

}  // namespace dprof::widgets
