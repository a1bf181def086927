// SPDX-License-Identifier: Apache-2.0
// The keys of all commands of a window: shown, and bound anew by the user.
#pragma once

#include <QAction>
#include <QWidget>

#include "gui/widgets/look.h"

namespace dprof::widgets {

class KeyBindings : public QObject {
  Q_OBJECT

 public:
  // Of the actions of `window`. A command without keys needs a word by which the keys that it is
  // bound to are remembered.
  KeyBindings(QWidget& window, const Look& look) : window_(window), look_(look) {}
  static void prepare(QAction& action, const QList<QKeySequence>& keys, const char* word);

  // As the user bound them, which is remembered from now on.
  void recall();
  void show_dialog();

 signals:
  void remarked(const QString& text);

 private:
  // False: another command has them.
  bool bind(QAction& action, const QKeySequence& keys);
  void reset_all();
  QWidget* key_field(QAction& action, QWidget* parent);

  QWidget& window_;
  const Look& look_;
  bool remembers_ = false;
};

}  // namespace dprof::widgets
