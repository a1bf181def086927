// SPDX-License-Identifier: Apache-2.0
// Runs that are opened: by their paths, from a dialog, by dropping them on the window, from those
// that were open before.
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QHeaderView>
#include <QMenu>
#include <QMimeData>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "gui/widgets/main_window.h"
#include "gui/widgets/recent_runs.h"

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

constexpr int kRecentWidth = 620;
constexpr int kRecentNameWidth = 200;

// "run-7", and the folder that it is in.
QString name_of(const RunPaths& run) {
  const QString name = to_qstring(run.front().filename().string());
  return run.size() == 1 ? name : MainWindow::tr("%1 and %2 more").arg(name).arg(run.size() - 1);
}

QString folder_of(const RunPaths& run) { return to_qstring(run.front().parent_path().string()); }

}  // namespace

void MainWindow::open(std::vector<std::filesystem::path> paths, analyzer::AnalysisOptions options) {
  save_view();
  renewing_ = false;
  error_.reset();
  stage_ = tr("opening");
  share_ = 0;
  options.cache = true;  // opened again, it is there at once
  paths_ = paths;
  options_ = options;
  worker_.open(std::move(paths), std::move(options), {});
  refresh();
}

void MainWindow::compare_with(std::vector<std::filesystem::path> paths,
                              analyzer::AnalysisOptions options) {
  if (!session_.is_open()) return;
  compare_error_.reset();
  options.cache = true;
  worker_.compare(session_.shared_model(), std::move(paths), std::move(options));
}

// Below the middle of what the window shows without a run, whose words stand above.
void MainWindow::build_recent() {
  recent_ = new QTreeWidget(message_);
  recent_->setColumnCount(2);
  recent_->setHeaderHidden(true);
  recent_->setRootIsDecorated(false);
  recent_->setUniformRowHeights(true);
  recent_->setTextElideMode(Qt::ElideMiddle);
  recent_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  recent_->setFixedWidth(kRecentWidth);
  recent_->setColumnWidth(0, kRecentNameWidth);
  recent_->setFont(look_.font(view::Font::kBody));
  recent_->setAccessibleName(tr("Recent runs"));
  recent_->hide();
  const auto open_item = [this](QTreeWidgetItem* item) {
    const auto index = static_cast<size_t>(recent_->indexOfTopLevelItem(item));
    if (index < recent_runs_.size()) open(recent_runs_[index]);
  };
  connect(recent_, &QTreeWidget::itemClicked, this, open_item);
  connect(recent_, &QTreeWidget::itemActivated, this, open_item);
  auto* rows = new QVBoxLayout(message_);
  rows->addStretch(1);
  constexpr int kBelowWords = 16;
  auto* lower = new QVBoxLayout;
  lower->addSpacing(kBelowWords);
  lower->addWidget(recent_, 0, Qt::AlignHCenter);
  lower->addStretch(1);
  rows->addLayout(lower, 1);
}

// Beside the words only where nothing is open or being opened.
void MainWindow::place_recent() {
  const bool shown = !session_.is_open() && stage_.isEmpty() && !recent_runs_.empty();
  if (shown == recent_->isVisibleTo(message_)) return;
  recent_->setVisible(shown);
  if (shown) recent_->setFocus();
}

void MainWindow::list_recent() {
  recent_runs_ = recent_runs();
  recent_->clear();
  for (const RunPaths& run : recent_runs_) {
    auto* item = new QTreeWidgetItem(recent_, {name_of(run), folder_of(run)});
    item->setForeground(1, look_.colour(view::Role::kTextDim));
  }
  recent_->setCurrentItem(recent_->topLevelItem(0));
  constexpr int kBelow = 4;
  const int height = recent_->sizeHintForRow(0) * static_cast<int>(recent_runs_.size());
  recent_->setFixedHeight(height + kBelow);
  refresh();
}

void MainWindow::choose_recent() {
  const std::vector<RunPaths> runs = remembers_ ? recent_runs() : std::vector<RunPaths>();
  if (runs.empty()) {
    set_message(tr("no run was opened before that is still there"));
    return;
  }
  auto* menu = new QMenu(tr("Recent runs"), this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  for (const RunPaths& run : runs) {
    connect(menu->addAction(QStringLiteral("%1   %2").arg(name_of(run), folder_of(run))),
            &QAction::triggered, this, [this, run] { open(run); });
  }
  menu->popup(go_to_->mapToGlobal(QPoint(0, go_to_->height())));
}

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
