// SPDX-License-Identifier: Apache-2.0
// Above a dock that is alone or outside of the window: its name, by which it is dragged, and
// what to do with it. Among tabs it has no height: the tab says the name.
#pragma once

#include <QWidget>

#include "gui/widgets/look.h"

class QDockWidget;
class QToolButton;

namespace dprof::widgets {

class DockTitle : public QWidget {
  Q_OBJECT

 public:
  DockTitle(Look& look, const QString& title, QDockWidget* dock);
  void show_title(bool shown, bool floating);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

 signals:
  void move_wanted();
  void close_wanted();

 private:
  QToolButton* button(const QString& text, const QString& name);

  Look& look_;
  QToolButton* move_ = nullptr;  // out of the window, or back into it
  bool shown_ = false;
};

}  // namespace dprof::widgets
