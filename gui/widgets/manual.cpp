// SPDX-License-Identifier: Apache-2.0
// The manual, open at what it says of the page or dock that has the keyboard.
#include <QAbstractTextDocumentLayout>
#include <QApplication>
#include <QDialog>
#include <QScrollBar>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextTable>
#include <QVBoxLayout>

#include "gui/widgets/main_window.h"
#include "gui/widgets/manual_text.h"

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

// As the headings of docs/gui.md are; the manual is English.
QString MainWindow::manual_section() const {
  if (const auto dock = docks_->dock_with(QApplication::focusWidget()))
    return *dock == view::Dock::kSql ? QStringLiteral("SQL")
                                     : QStringLiteral("The docks");  // untranslated: a heading
  if (session_.page() == view::Page::kTimeline)
    return QStringLiteral("What is where");  // untranslated: a heading
  return to_qstring(view::info_of(session_.page()).title);
}

void MainWindow::show_manual() {
  auto* dialog = new QDialog(this);
  dialog->setObjectName(QStringLiteral("manual"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(tr("Manual"));
  dialog->resize(kManualSize);
  auto* rows = new QVBoxLayout(dialog);
  rows->setContentsMargins(0, 0, 0, 0);
  auto* text = new QTextBrowser(dialog);
  text->setFont(look_.font(view::Font::kBody));
  text->setOpenExternalLinks(true);
  text->document()->setDocumentMargin(24);
  text->setMarkdown(to_qstring(manual_text()));
  space_out(*text->document());
  rows->addWidget(text);
  const QString section = manual_section();
  dialog->show();
  const QTextBlock block = heading(*text->document(), section);
  if (!block.isValid()) return;
  const QRectF place = text->document()->documentLayout()->blockBoundingRect(block);
  text->verticalScrollBar()->setValue(static_cast<int>(place.top()));
  text->setTextCursor(QTextCursor(block));
}

}  // namespace dprof::widgets
