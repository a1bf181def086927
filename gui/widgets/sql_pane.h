// SPDX-License-Identifier: Apache-2.0
// The dock SQL: a field for the statement, and below it what view/docks/sql_dock.h shows.
#pragma once

#include <QPlainTextEdit>
#include <QToolButton>

#include "gui/view/model/sql_console.h"
#include "gui/widgets/panes.h"
#include "gui/widgets/sql_highlighter.h"

namespace dprof::widgets {

class SqlPane : public QWidget {
  Q_OBJECT

 public:
  // Takes over `below`.
  SqlPane(view::SqlConsole& sql, Look& look, ScrollPane* below, QWidget* parent = nullptr);
  // Shows the console's text, and whether it is being asked.
  void refresh();
  [[nodiscard]] QPlainTextEdit& field() { return *field_; }

 signals:
  void run_wanted();     // of what is in the field
  void cancel_wanted();  // of what is being asked

 private:
  void fit_field();

  view::SqlConsole& sql_;
  Look& look_;
  QPlainTextEdit* field_ = nullptr;
  SqlHighlighter* highlighter_ = nullptr;
  QToolButton* button_ = nullptr;
  const view::Theme* theme_ = nullptr;  // that the text has the colours of
};

}  // namespace dprof::widgets
