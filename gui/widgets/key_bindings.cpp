// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/key_bindings.h"

#include <QAction>
#include <QDialog>
#include <QGridLayout>
#include <QKeySequenceEdit>
#include <QLabel>
#include <QScrollArea>
#include <QSettings>
#include <QToolButton>

namespace dprof::widgets {
namespace {

constexpr auto kGroup = "keys";
constexpr QSize kKeysSize(760, 720);
constexpr int kFieldWidth = 190;

QString first_keys_of(const QAction& action) { return action.property("made_with").toString(); }

// A command is known by the keys that it was made with, else by its word: they are the same in
// every language.
QString id_of(const QAction& action) {
  const QString keys = first_keys_of(action);
  return keys.isEmpty() ? action.property("word").toString() : keys;
}

QString text_of(const QList<QKeySequence>& keys, QKeySequence::SequenceFormat format) {
  return QKeySequence::listToString(keys, format);
}

}  // namespace

void KeyBindings::prepare(QAction& action, const QList<QKeySequence>& keys, const char* word) {
  action.setShortcuts(keys);
  action.setProperty("made_with", QKeySequence::listToString(keys, QKeySequence::PortableText));
  action.setProperty("word", QString::fromLatin1(word));
}

void KeyBindings::recall() {
  remembers_ = true;
  QSettings settings;
  settings.beginGroup(kGroup);
  const QList<QAction*> all = window_.actions();
  for (QAction* action : all) {
    const QString id = id_of(*action);
    if (settings.contains(id))
      action->setShortcuts(QKeySequence::listFromString(settings.value(id).toString()));
  }
}

bool KeyBindings::bind(QAction& action, const QKeySequence& keys) {
  const QList<QAction*> all = window_.actions();
  for (const QAction* other : all) {
    const bool everywhere = other->shortcutContext() == Qt::WindowShortcut ||
                            action.shortcutContext() == Qt::WindowShortcut;
    if (other == &action || !everywhere || keys.isEmpty() || !other->shortcuts().contains(keys))
      continue;
    emit remarked(
        tr("%1 is the key of: %2").arg(keys.toString(QKeySequence::NativeText), other->text()));
    return false;
  }
  action.setShortcuts(keys.isEmpty() ? QList<QKeySequence>() : QList<QKeySequence>{keys});
  if (remembers_) {
    QSettings settings;
    settings.beginGroup(kGroup);
    settings.setValue(id_of(action), text_of(action.shortcuts(), QKeySequence::PortableText));
  }
  return true;
}

void KeyBindings::reset_all() {
  const QList<QAction*> all = window_.actions();
  for (QAction* action : all)
    action->setShortcuts(QKeySequence::listFromString(first_keys_of(*action)));
  if (!remembers_) return;
  QSettings settings;
  settings.remove(kGroup);
}

void KeyBindings::show_dialog() {
  auto* dialog = new QDialog(&window_);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(tr("Keys"));
  dialog->resize(kKeysSize);
  auto* rows = new QGridLayout(dialog);
  rows->setContentsMargins(0, 0, 0, 0);
  auto* area = new QScrollArea(dialog);
  area->setWidgetResizable(true);
  auto* content = new QWidget;
  area->setWidget(content);
  rows->addWidget(area);
  auto* grid = new QGridLayout(content);
  grid->setHorizontalSpacing(24);
  grid->setContentsMargins(24, 18, 24, 18);
  const auto add = [&](QWidget* keys, const QString& text) {
    const int row = grid->rowCount();
    keys->setFont(look_.font(view::Font::kMono));
    grid->addWidget(keys, row, 0);
    grid->addWidget(new QLabel(text, content), row, 1);
  };
  const auto label = [&](const QString& keys) { return new QLabel(keys, content); };
  grid->addWidget(
      new QLabel(tr("Press other keys in a field to bind them to its command."), content), 0, 0, 1,
      2);
  add(label(QStringLiteral("W  S")),
      tr("Zoom in, out at the mouse (with Shift: faster)"));  // untranslated: keys
  add(label(QStringLiteral("A  D")),
      tr("Earlier, later (with Shift: faster)"));  // untranslated: keys
  const QList<QAction*> all = window_.actions();
  for (QAction* action : all) add(key_field(*action, content), action->text());
  add(label(tr("Ctrl+wheel")), tr("Zoom at the mouse; Shift+wheel: earlier, later"));
  add(label(tr("drag")), tr("Select a range; with the middle button: move; with Shift: measure"));
  auto* reset = new QToolButton(content);
  reset->setText(tr("All keys as they were"));
  connect(reset, &QToolButton::clicked, dialog, [this, dialog] {
    // A field that loses the keyboard would bind once more what is in it.
    const QList<QKeySequenceEdit*> fields = dialog->findChildren<QKeySequenceEdit*>();
    for (QKeySequenceEdit* field : fields) field->blockSignals(true);
    reset_all();
    dialog->close();
  });
  grid->addWidget(reset, grid->rowCount(), 0, 1, 2);
  dialog->show();
}

// Of several keys the first one can be changed; the others go with it.
QWidget* KeyBindings::key_field(QAction& action, QWidget* parent) {
  auto* field = new QKeySequenceEdit(action.shortcut(), parent);
  field->setToolTip(text_of(action.shortcuts(), QKeySequence::NativeText));
  field->setAccessibleName(action.text());
  field->setFixedWidth(kFieldWidth);
  connect(field, &QKeySequenceEdit::editingFinished, this, [this, field, of = &action] {
    if (field->keySequence() == of->shortcut()) return;
    if (!bind(*of, field->keySequence())) field->setKeySequence(of->shortcut());
  });
  return field;
}

}  // namespace dprof::widgets
