// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/go_to_field.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QCompleter>
#include <utility>

namespace dprof::widgets {
namespace {

constexpr int kWidth = 360;
constexpr int kLineHeight = 28;
constexpr QChar kSearch = u'/';
constexpr QChar kCommand = u'>';
constexpr QChar kSql = u':';
constexpr QLatin1String kNote("note ");  // untranslated: a command's word

}  // namespace

GoToField::GoToField(const Look& look, QWidget* parent) : QLineEdit(parent) {
  setObjectName(QStringLiteral("go_to"));
  setPlaceholderText(tr("/ search   > command   : SQL   rank:5   step:42"));
  setFixedSize(kWidth, kLineHeight);
  setFont(look.font(view::Font::kSmall));
  setAccessibleName(tr("Search, command, SQL statement or selector"));
  connect(this, &QLineEdit::returnPressed, this, &GoToField::enter);
  // What a note was begun on is forgotten where the field is left for another part of the window;
  // not where another window comes before this one.
  connect(qApp, &QApplication::focusChanged, &alive_, [this](QWidget* from, QWidget* to) {
    if (from == this && to != nullptr) leave_note();
  });
}

void GoToField::complete(const QList<QAction*>& commands, const Look& look) {
  QStringList names;
  for (const QAction* command : commands) names << kCommand + QStringLiteral(" ") + command->text();
  auto* completer = new QCompleter(names, this);
  completer->setCaseSensitivity(Qt::CaseInsensitive);
  completer->setFilterMode(Qt::MatchContains);
  completer->popup()->setFont(look.font(view::Font::kSmall));
  connect(this, &QLineEdit::textEdited, this, [this, completer](const QString& text) {
    setCompleter(text.startsWith(kCommand) ? completer : nullptr);
  });
}

void GoToField::begin(const QString& text) {
  setFocus();
  setText(text);
}

void GoToField::begin_note(Interval at) {
  noting_ = at;
  begin(kNote);
}

void GoToField::leave_note() {
  if (!noting_) return;
  noting_.reset();
  if (text().startsWith(kNote)) clear();
}

void GoToField::enter() {
  const QString given = text().trimmed();
  if (given.startsWith(kSearch)) {
    emit search_wanted(given.mid(1).trimmed(),
                       QApplication::keyboardModifiers().testFlag(Qt::ShiftModifier));
  } else if (given.startsWith(kCommand)) {
    emit command_wanted(given.mid(1).trimmed());
  } else if (given.startsWith(kSql)) {
    clear();
    emit statement_given(given.mid(1).trimmed());
  } else if (given.startsWith(kNote)) {
    const QString note = given.mid(kNote.size()).trimmed();
    clear();
    emit note_written(std::exchange(noting_, std::nullopt), note);
  } else {
    emit selector_given(given);
  }
}

}  // namespace dprof::widgets
