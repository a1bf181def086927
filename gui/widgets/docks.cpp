// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/docks.h"

#include <QSignalBlocker>
#include <QVBoxLayout>

#include "gui/view/docks/flame_dock.h"
#include "gui/view/docks/histogram_dock.h"
#include "gui/view/docks/info_dock.h"
#include "gui/view/docks/selection_table.h"
#include "gui/view/docks/sql_dock.h"
#include "gui/view/docks/table_dock.h"
#include "gui/view/panels.h"
#include "gui/view/texts.h"
#include "gui/widgets/sql_pane.h"

namespace dprof::widgets {

Docks::Docks(view::Session& session, Look& look, QWidget* parent)
    : QWidget(parent), session_(session), look_(look) {
  setObjectName(QStringLiteral("lower"));
  setAttribute(Qt::WA_StyledBackground);
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(0, 1, 0, 0);
  rows->setSpacing(0);
  tabs_ = make_tabs(look_);
  stack_ = new QStackedWidget;
  for (size_t d = 0; d < view::kDocks.size(); ++d) {
    const auto dock = static_cast<view::Dock>(d);
    const QString title = to_qstring(view::translated(view::kDocks[d].title));
    tabs_->addTab(title.toUpper());
    auto* pane = new ScrollPane(
        look_,
        [this, dock](int width, int height, int top) {
          view::Panel panel = draw(dock, width, height, top);
          emit drawn();
          return panel;
        },
        ScrollPane::Drawn::kInView);
    pane->setAccessibleName(title);
    connect(pane, &ScrollPane::followed, this, &Docks::followed);
    panes_.push_back(pane);
    if (dock == view::Dock::kSql) {
      sql_ = new SqlPane(session_, look_, pane);
      stack_->addWidget(sql_);
    } else {
      stack_->addWidget(pane);
    }
  }
  connect(tabs_, &QTabBar::currentChanged, this, [this](int dock) {
    session_.show_dock(static_cast<view::Dock>(dock));
    emit changed();
  });
  rows->addWidget(tabs_);
  rows->addWidget(stack_, 1);
}

void Docks::refresh() {
  const auto shown = static_cast<int>(session_.dock());
  const QSignalBlocker quiet(tabs_);
  tabs_->setCurrentIndex(shown);
  stack_->setCurrentIndex(shown);
  if (session_.dock() == view::Dock::kSql) sql_->refresh();
  pane(session_.dock()).refresh();
}

view::Panel Docks::draw(view::Dock dock, int width, int height, int top) const {
  // A pane that is not shown is resized, too.
  if (!session_.is_open() || dock != session_.dock()) return {};
  const view::TextMeasure& measure = look_.measure();
  switch (dock) {
    case view::Dock::kSelection:
      return view::draw_selection_table(session_, width, height, measure);
    case view::Dock::kTable:
      return view::draw_table_dock(session_, width, height, top, measure);
    case view::Dock::kFlame:
      return view::draw_flame_dock(session_, width, height, measure);
    case view::Dock::kHistogram:
      return view::draw_histogram_dock(session_, width, height, measure);
    case view::Dock::kSql:
      return view::draw_sql_dock(session_, width, height, top, measure);
    case view::Dock::kDiagnostics:
      return view::draw_diagnostics(session_, width, height, measure);
    case view::Dock::kInfo:
      return view::draw_info_dock(session_, width, height, measure);
  }
  return {};
}

}  // namespace dprof::widgets
