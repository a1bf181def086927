// SPDX-License-Identifier: Apache-2.0
// The menu of what is under the mouse: the commands about it, with their keys.
#include <QMenu>

#include "gui/widgets/main_window.h"

namespace dprof::widgets {

// It is selected already.
void MainWindow::show_menu_at(QPoint global) {
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->setFont(look_.font(view::Font::kBody));
  if (session_.selection().slice) {
    const std::string name = name_of(session_.model(), *session_.selection().slice);
    menu->addAction(tr("All events of this name"), this, [this, name] {
      session_.select_name(name);
      session_.show_dock(view::Dock::kHistogram);
      refresh();
    });
    menu->addSeparator();
  }
  menu->addActions(about_selection_);
  menu->popup(global);
}

}  // namespace dprof::widgets
