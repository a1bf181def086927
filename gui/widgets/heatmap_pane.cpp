// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/heatmap_pane.h"

#include <QMouseEvent>
#include <utility>

namespace dprof::widgets {
namespace {

view::Point point_of(const QMouseEvent& event) {
  const QPoint at = event.position().toPoint();
  return {at.x(), at.y()};
}

}  // namespace

HeatmapPane::HeatmapPane(view::Session& session, Look& look, QWidget* parent)
    : Pane(
          look,
          [this, &look](int width, int height) {
            if (!session_.is_open()) return view::DrawList();
            page_ =
                view::draw_heatmap(session_.model(), session_.steps, session_.selecting.selection(),
                                   width, height, look.measure());
            return std::move(page_.list);
          },
          parent),
      session_(session) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Ranks and steps"));
  set_overlay([this, &look](int, int) {
    if (!session_.is_open()) return view::DrawList();
    return view::draw_heatmap_overlay(session_.model(), session_.steps, page_.map, mouse_,
                                      look.measure());
  });
}

bool HeatmapPane::choose(view::Point at) {
  const auto cell = view::heatmap_cell_at(session_.model(), session_.steps, page_.map, at);
  if (!cell) return false;
  session_.selecting.select_cell(cell->rank, cell->step);
  emit changed();
  return true;
}

void HeatmapPane::mousePressEvent(QMouseEvent* event) {
  if (!session_.is_open()) return;
  if (event->button() != Qt::LeftButton) return event->ignore();
  const view::Point at = point_of(*event);
  for (const view::HeatmapChoice& choice : page_.choices) {
    if (!choice.box.contains(at.x, at.y)) continue;
    choice.choose(session_.steps);
    emit changed();
    return;
  }
  choose(at);
}

void HeatmapPane::mouseMoveEvent(QMouseEvent* event) {
  mouse_ = point_of(*event);
  update_overlay();
}

void HeatmapPane::mouseDoubleClickEvent(QMouseEvent* event) {
  if (session_.is_open() && choose(point_of(*event))) emit wants_timeline();
}

void HeatmapPane::leaveEvent(QEvent*) {
  mouse_.reset();
  update_overlay();
}

}  // namespace dprof::widgets
