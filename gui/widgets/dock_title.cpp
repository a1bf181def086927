// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/dock_title.h"

#include <QDockWidget>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

namespace dprof::widgets {
namespace {

constexpr int kTitleHeight = 34;

}  // namespace

DockTitle::DockTitle(Look& look, const QString& title, QDockWidget* dock)
    : QWidget(dock), look_(look) {
  setObjectName(QStringLiteral("dock_title"));
  setAttribute(Qt::WA_StyledBackground);
  auto* cells = new QHBoxLayout(this);
  cells->setContentsMargins(12, 0, 8, 0);
  cells->setSpacing(2);
  cells->setSizeConstraint(QLayout::SetNoConstraint);
  auto* name = new QLabel(title.toUpper(), this);
  name->setFont(look_.font(view::Font::kHeading));
  cells->addWidget(name);
  cells->addStretch(1);
  move_ = button(QStringLiteral("↗"), tr("Take out of the window"));
  QToolButton* close = button(QStringLiteral("×"), tr("Close"));
  cells->addWidget(move_);
  cells->addWidget(close);
  connect(move_, &QToolButton::clicked, this, &DockTitle::move_wanted);
  connect(close, &QToolButton::clicked, this, &DockTitle::close_wanted);
  setVisible(true);
}

QToolButton* DockTitle::button(const QString& text, const QString& name) {
  auto* made = new QToolButton(this);
  made->setText(text);
  made->setFont(look_.font(view::Font::kBody));
  made->setToolTip(name);
  made->setAccessibleName(name);
  made->setAutoRaise(true);
  made->setFocusPolicy(Qt::TabFocus);
  return made;
}

void DockTitle::show_title(bool shown, bool floating) {
  const QString name = floating ? tr("Put back into the window") : tr("Take out of the window");
  move_->setText(floating ? QStringLiteral("↙") : QStringLiteral("↗"));
  move_->setToolTip(name);
  move_->setAccessibleName(name);
  if (shown == shown_) return;
  shown_ = shown;
  updateGeometry();
}

QSize DockTitle::sizeHint() const { return {0, shown_ ? kTitleHeight : 0}; }

}  // namespace dprof::widgets
