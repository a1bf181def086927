// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/recent_list.h"

#include <QHeaderView>
#include <QVBoxLayout>

#include "gui/widgets/panes.h"

namespace dprof::widgets {
namespace {

constexpr int kRecentWidth = 620;
constexpr int kRecentNameWidth = 200;

// "run-7", and the folder that it is in.
QString name_of(const RunPaths& run) {
  const QString name = to_qstring(run.front().filename().string());
  return run.size() == 1 ? name : RecentList::tr("%1 and %2 more").arg(name).arg(run.size() - 1);
}

QString folder_of(const RunPaths& run) { return to_qstring(run.front().parent_path().string()); }

}  // namespace

RecentList::RecentList(const Look& look, QWidget* parent) : QTreeWidget(parent), look_(look) {
  setColumnCount(2);
  setHeaderHidden(true);
  setRootIsDecorated(false);
  setUniformRowHeights(true);
  setTextElideMode(Qt::ElideMiddle);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFixedWidth(kRecentWidth);
  setColumnWidth(0, kRecentNameWidth);
  setFont(look_.font(view::Font::kBody));
  setAccessibleName(tr("Recent runs"));
  hide();
  const auto open_item = [this](QTreeWidgetItem* item) {
    const auto index = static_cast<size_t>(indexOfTopLevelItem(item));
    if (index < runs_.size()) emit chosen(runs_[index]);
  };
  connect(this, &QTreeWidget::itemClicked, this, open_item);
  connect(this, &QTreeWidget::itemActivated, this, open_item);
  auto* rows = new QVBoxLayout(parent);
  rows->addStretch(1);
  constexpr int kBelowWords = 16;
  auto* lower = new QVBoxLayout;
  lower->addSpacing(kBelowWords);
  lower->addWidget(this, 0, Qt::AlignHCenter);
  lower->addStretch(1);
  rows->addLayout(lower, 1);
}

void RecentList::list() {
  runs_ = recent_runs();
  clear();
  for (const RunPaths& run : runs_) {
    auto* item = new QTreeWidgetItem(this, {name_of(run), folder_of(run)});
    item->setForeground(1, look_.colour(view::Role::kTextDim));
  }
  setCurrentItem(topLevelItem(0));
  constexpr int kBelow = 4;
  setFixedHeight(sizeHintForRow(0) * static_cast<int>(runs_.size()) + kBelow);
}

void RecentList::show_where(bool wanted) {
  const bool shown = wanted && !runs_.empty();
  if (shown == isVisibleTo(parentWidget())) return;
  setVisible(shown);
  if (shown) setFocus();
}

QMenu* RecentList::make_menu(QWidget* parent) {
  const std::vector<RunPaths> runs = recent_runs();
  if (runs.empty()) return nullptr;
  auto* menu = new QMenu(tr("Recent runs"), parent);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  for (const RunPaths& run : runs) {
    connect(menu->addAction(QStringLiteral("%1   %2").arg(name_of(run), folder_of(run))),
            &QAction::triggered, this, [this, run] { emit chosen(run); });
  }
  return menu;
}

}  // namespace dprof::widgets
