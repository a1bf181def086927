// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/manual.h"

#include <QAbstractTextDocumentLayout>
#include <QDialog>
#include <QScrollBar>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextTable>
#include <QVBoxLayout>

#include "gui/widgets/manual_text.h"
#include "gui/widgets/panes.h"

namespace dprof::widgets {
namespace {

constexpr QSize kManualSize(860, 900);

QTextBlock heading(const QTextDocument& document, const QString& title) {
  QTextBlock block = document.begin();
  while (block.isValid() && (block.blockFormat().headingLevel() == 0 || block.text() != title))
    block = block.next();
  return block;
}

// Markdown says nothing of distances.
void space_out(QTextDocument& document) {
  constexpr qreal kAboveHeading = 20;
  constexpr qreal kAboveText = 7;
  constexpr qreal kInCells = 4;
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
    QTextCursor cursor(block);
    if (cursor.currentTable() != nullptr) continue;
    QTextBlockFormat format = block.blockFormat();
    format.setTopMargin(format.headingLevel() > 0 ? kAboveHeading : kAboveText);
    cursor.setBlockFormat(format);
  }
  const QList<QTextFrame*> frames = document.rootFrame()->childFrames();
  for (QTextFrame* frame : frames) {
    auto* table = qobject_cast<QTextTable*>(frame);
    if (table == nullptr) continue;
    QTextTableFormat format = table->format();
    format.setCellPadding(kInCells);
    format.setCellSpacing(0);
    format.setBorderCollapse(true);
    format.setTopMargin(kAboveText);
    table->setFormat(format);
  }
}

}  // namespace

void show_manual(QWidget& parent, const Look& look, const QString& section) {
  auto* dialog = new QDialog(&parent);
  dialog->setObjectName(QStringLiteral("manual"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(QDialog::tr("Manual"));
  dialog->resize(kManualSize);
  auto* rows = new QVBoxLayout(dialog);
  rows->setContentsMargins(0, 0, 0, 0);
  auto* text = new QTextBrowser(dialog);
  text->setFont(look.font(view::Font::kBody));
  text->setOpenExternalLinks(true);
  text->document()->setDocumentMargin(24);
  text->setMarkdown(to_qstring(manual_text()));
  space_out(*text->document());
  rows->addWidget(text);
  dialog->show();
  const QTextBlock block = heading(*text->document(), section);
  if (!block.isValid()) return;
  const QRectF place = text->document()->documentLayout()->blockBoundingRect(block);
  text->verticalScrollBar()->setValue(static_cast<int>(place.top()));
  text->setTextCursor(QTextCursor(block));
}

}  // namespace dprof::widgets
