// SPDX-License-Identifier: Apache-2.0
// The runs that were opened before, to open one of them again: a list where none is open, and a
// menu.
#pragma once

#include <QMenu>
#include <QTreeWidget>

#include "gui/widgets/look.h"
#include "gui/widgets/recent_runs.h"

namespace dprof::widgets {

class RecentList : public QTreeWidget {
  Q_OBJECT

 public:
  // Below the middle of `parent`, whose words are above.
  RecentList(const Look& look, QWidget* parent);

  // As the user's settings keep them now.
  void list();
  void show_where(bool wanted);  // if there are any
  // nullptr = none of the recent runs is still there.
  [[nodiscard]] QMenu* make_menu(QWidget* parent);

 signals:
  void chosen(const std::vector<std::filesystem::path>& run);

 private:
  const Look& look_;
  std::vector<RunPaths> runs_;
};

}  // namespace dprof::widgets
