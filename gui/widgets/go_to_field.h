// SPDX-License-Identifier: Apache-2.0
// The window's field: a selector goes there, `/` searches for events by name, `>` is a command, `:`
// a SQL statement, `note ` writes one.
#pragma once

#include <QAction>
#include <QLineEdit>
#include <optional>

#include "base/interval.h"
#include "gui/widgets/look.h"

namespace dprof::widgets {

class GoToField : public QLineEdit {
  Q_OBJECT

 public:
  GoToField(const Look& look, QWidget* parent);

  // Completes the names of these, while the text is a command.
  void complete(const QList<QAction*>& commands, const Look& look);
  void begin(const QString& text);
  // Of a note about that time.
  void begin_note(Interval at);

 signals:
  void selector_given(const QString& selector);
  void search_wanted(const QString& text, bool back);
  void command_wanted(const QString& text);
  void statement_given(const QString& statement);
  // nullopt = about what is selected.
  void note_written(std::optional<dprof::Interval> at, const QString& text);

 private:
  void enter();
  void leave_note();

  std::optional<Interval> noting_;  // what a note is being written about
  QObject
      alive_;  // for what the application says: it still speaks while a base of this is destroyed
};

}  // namespace dprof::widgets
