// SPDX-License-Identifier: Apache-2.0
// The window's field: a selector goes there, `/` searches for events by name, `>` is a command, `:`
// a SQL statement, `note ` writes one.
#include <QAbstractItemView>
#include <QApplication>
#include <QCompleter>

#include "gui/view/names.h"
#include "gui/widgets/main_window.h"

namespace dprof::widgets {
namespace {

constexpr int kWidth = 360;
constexpr int kLineHeight = 28;
constexpr QChar kSearch = u'/';
constexpr QChar kCommand = u'>';
constexpr QChar kSql = u':';
constexpr QLatin1String kNote("note ");  // untranslated: a command's word

}  // namespace

void MainWindow::build_go_to() {
  go_to_ = new QLineEdit(top_);
  go_to_->setObjectName(QStringLiteral("go_to"));
  go_to_->setPlaceholderText(tr("/ search   > command   : SQL   rank:5   step:42"));
  go_to_->setFixedSize(kWidth, kLineHeight);
  go_to_->setFont(look_.font(view::Font::kSmall));
  go_to_->setAccessibleName(tr("Search, command, SQL statement or selector"));
  connect(go_to_, &QLineEdit::returnPressed, this, &MainWindow::go_to);
  // What a note was begun on is forgotten where the field is left for another part of the window;
  // not where another window comes before this one.
  connect(qApp, &QApplication::focusChanged, &alive_, [this](QWidget* from, QWidget* to) {
    if (from == go_to_ && to != nullptr) leave_note();
  });
}

// Of the commands, while the text is one; made when all actions are there.
void MainWindow::complete_commands() {
  QStringList names;
  const QList<QAction*> all = actions();
  for (const QAction* action : all) names << kCommand + QStringLiteral(" ") + action->text();
  auto* completer = new QCompleter(names, go_to_);
  completer->setCaseSensitivity(Qt::CaseInsensitive);
  completer->setFilterMode(Qt::MatchContains);
  completer->popup()->setFont(look_.font(view::Font::kSmall));
  connect(go_to_, &QLineEdit::textEdited, this, [this, completer](const QString& text) {
    go_to_->setCompleter(text.startsWith(kCommand) ? completer : nullptr);
  });
}

void MainWindow::begin_in_field(const QString& text) {
  go_to_->setFocus();
  go_to_->setText(text);
}

void MainWindow::begin_note(Interval at) {
  noting_ = at;
  begin_in_field(kNote);
}

void MainWindow::leave_note() {
  if (!noting_) return;
  noting_.reset();
  if (go_to_->text().startsWith(kNote)) go_to_->clear();
}

void MainWindow::go_to() {
  if (!session_.is_open()) return;
  const QString text = go_to_->text().trimmed();
  set_message({});
  if (text.startsWith(kSearch)) {
    const bool back = QApplication::keyboardModifiers().testFlag(Qt::ShiftModifier);
    search(text.mid(1).trimmed().toStdString(), back ? -1 : 1);
  } else if (text.startsWith(kCommand)) {
    run_command(text.mid(1).trimmed());
  } else if (text.startsWith(kSql)) {
    go_to_->clear();
    run_sql(text.mid(1).trimmed().toStdString());
  } else if (text.startsWith(kNote)) {
    session_.add_note(noting_.value_or(session_.selected_range()),
                      text.mid(kNote.size()).trimmed().toStdString());
    noting_.reset();
    go_to_->clear();
    canvas_->setFocus();
    refresh();
  } else if (const Status selected = select(text.toStdString(), false); selected.ok()) {
    go_to_->clear();
    canvas_->setFocus();
  } else {
    set_message(to_qstring(selected.error().what + ": " + selected.error().hint));
  }
}

// The field keeps the text, so that Enter goes on.
bool MainWindow::search(const std::string& text, int by) {
  if (text.empty()) return false;
  const std::string pattern = text.find('*') == std::string::npos ? "*" + text + "*" : text;
  const bool known = view::any_name_matches(session_.model(), pattern);
  const bool found = known && session_.next_named(pattern, by);
  if (found) session_.select_name(pattern);
  refresh();
  const QString missing = to_qstring(view::without_events(session_.model()));
  if (!known) {
    set_message(tr("no event's name contains %1").arg(to_qstring(text)) + missing);
  } else if (!found) {
    set_message((by > 0 ? tr("no later event of that name") : tr("no earlier event of that name")) +
                missing);
  }
  return found;
}

void MainWindow::run_command(const QString& text) {
  const QList<QAction*> all = actions();
  for (QAction* action : all) {
    if (text.isEmpty() || !action->text().contains(text, Qt::CaseInsensitive)) continue;
    go_to_->clear();
    canvas_->setFocus();
    action->trigger();
    return;
  }
  set_message(tr("no command contains '%1'; ? lists them").arg(text));
}

}  // namespace dprof::widgets
