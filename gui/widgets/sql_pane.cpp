// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/sql_pane.h"

#include <QAbstractTextDocumentLayout>
#include <QHBoxLayout>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>

namespace dprof::widgets {
namespace {

constexpr int kLeastLines = 2;  // of the field; more where the statement has them
constexpr int kMostLines = 6;
constexpr int kFrame = 16;  // around the text
constexpr int kButtonWidth = 76;

}  // namespace

SqlPane::SqlPane(view::SqlConsole& sql, Look& look, ScrollPane* below, QWidget* parent)
    : QWidget(parent), sql_(sql), look_(look) {
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(0);
  auto* upper = new QHBoxLayout;
  upper->setContentsMargins(12, 6, 12, 2);
  upper->setSpacing(8);
  field_ = new QPlainTextEdit;
  field_->setObjectName(QStringLiteral("sql"));
  field_->setFont(look_.font(view::Font::kMono));
  field_->setTabChangesFocus(true);
  field_->setPlaceholderText(tr("SELECT … (Ctrl+Enter runs it, Ctrl+↑ brings back earlier ones)"));
  field_->setAccessibleName(tr("SQL statement"));
  highlighter_ = new SqlHighlighter(look_, field_->document());
  button_ = new QToolButton;
  button_->setObjectName(QStringLiteral("run_sql"));
  button_->setFont(look_.font(view::Font::kBody));
  button_->setFixedWidth(kButtonWidth);
  button_->setFocusPolicy(Qt::TabFocus);
  upper->addWidget(field_, 1);
  upper->addWidget(button_, 0, Qt::AlignTop);
  rows->addLayout(upper);
  rows->addWidget(below, 1);
  connect(field_, &QPlainTextEdit::textChanged, this,
          [this] { sql_.write(field_->toPlainText().toStdString()); });
  connect(field_->document()->documentLayout(), &QAbstractTextDocumentLayout::documentSizeChanged,
          this, &SqlPane::fit_field);
  connect(button_, &QToolButton::clicked, this, [this] {
    if (sql_.is_asking()) {
      emit cancel_wanted();
    } else {
      emit run_wanted();
    }
  });
  fit_field();
  refresh();
}

void SqlPane::refresh() {
  const QString text = to_qstring(sql_.text());
  if (text != field_->toPlainText()) {
    const QSignalBlocker quiet(field_);
    field_->setPlainText(text);
    field_->moveCursor(QTextCursor::End);
  }
  if (theme_ != &look_.theme()) {
    theme_ = &look_.theme();
    highlighter_->rehighlight();
  }
  const bool asking = sql_.is_asking();
  button_->setText(asking ? tr("Cancel") : tr("Run"));
  button_->setToolTip(asking ? tr("Esc") : tr("Ctrl+Enter"));
  button_->setAccessibleName(asking ? tr("Cancel the statement") : tr("Run the statement"));
}

void SqlPane::fit_field() {
  const auto needed = static_cast<int>(field_->document()->size().height());  // in lines
  const int lines = std::clamp(needed, kLeastLines, kMostLines);
  field_->setFixedHeight(lines * field_->fontMetrics().lineSpacing() + kFrame);
}

}  // namespace dprof::widgets
