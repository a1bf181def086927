// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/canvas.h"

#include <QContextMenuEvent>
#include <QMouseEvent>
#include <QWheelEvent>
#include <cmath>
#include <utility>

#include "gui/view/draw_session.h"
#include "gui/view/timeline/overview.h"
#include "gui/view/timeline/path_lines.h"
#include "gui/view/timeline/timeline_view.h"
#include "gui/widgets/accessible_canvas.h"

namespace dprof::widgets {
namespace {

constexpr int kDragFrom = 4;  // pixels; less is a click
constexpr int kFoldMarkWidth = 40;
constexpr int kEdge = 12;  // of the track list: a drag scrolls there

// The list, moved down below the header.
view::DrawList below_header(const view::DrawList& rows, int width, int height) {
  view::DrawList list;
  list.clip({0, view::kHeaderHeight, width, height - view::kHeaderHeight});
  list.append(rows, {0, view::kHeaderHeight});
  list.unclip();
  return list;
}

}  // namespace

Canvas::Canvas(view::Session& session, Look& look, QWidget* parent)
    : Pane(
          look,
          [&session, &look](int width, int height) {
            view::DrawList list;
            if (!session.is_open()) return list;
            const int rows = height - view::kHeaderHeight;
            list =
                below_header(view::draw_rows(session, width, rows, look.measure()), width, height);
            list.append(view::draw_header(session, width, look.measure()));
            return list;
          },
          parent),
      session_(session) {
  set_overlay([&session, &look](int width, int height) {
    if (!session.is_open()) return view::DrawList();
    const int rows = height - view::kHeaderHeight;
    return below_header(view::draw_overlay(session, width, rows, look.measure()), width, height);
  });
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  make_canvas_accessible();
  setAccessibleName(tr("Timeline"));
}

int Canvas::anchor() const {
  const QPoint at = mapFromGlobal(QCursor::pos());
  return underMouse() && rect().contains(at) ? at.x() : width() / 2;
}

view::Hit Canvas::hit_at(QPoint at) const {
  return view::hit_test(session_.model(), session_.tracks.layout(), session_.viewport.scale(),
                        at.x(), session_.tracks.layout_y(at.y() - view::kHeaderHeight));
}

std::optional<int64_t> Canvas::step_at(int x) const {
  const TraceNs time = session_.viewport.scale().time_of(x);
  for (const analyzer::StepWindow& step : session_.model().steps) {
    if (step.window.begin <= time && time < step.window.end) return step.index;
  }
  return std::nullopt;
}

// What is under the mouse is selected first; a range that it lies in stays.
void Canvas::contextMenuEvent(QContextMenuEvent* event) {
  if (!session_.is_open()) return;
  const bool by_mouse = event->reason() == QContextMenuEvent::Mouse;
  menu_step_ = by_mouse ? step_at(event->pos().x()) : std::nullopt;
  if (by_mouse && event->pos().y() >= view::kHeaderHeight) {
    const view::Hit hit = hit_at(event->pos());
    const std::optional<Interval>& range = session_.selecting.selection().range;
    const bool in_range = range && range->begin <= hit.time && hit.time < range->end;
    if (hit.row != nullptr && !in_range) {
      session_.selecting.click(hit);
      emit changed();
    }
  }
  emit menu_wanted(event->globalPos());
}

void Canvas::resizeEvent(QResizeEvent* event) {
  session_.viewport.resize(width(), height() - view::kHeaderHeight);
  Pane::resizeEvent(event);
}

void Canvas::mousePressEvent(QMouseEvent* event) {
  setFocus();
  if (!session_.is_open()) return;
  const QPoint at = event->position().toPoint();
  if (event->button() == Qt::LeftButton) {
    pressed_ = at;
    dragging_ = false;
    measuring_ = event->modifiers().testFlag(Qt::ShiftModifier);
    session_.viewport.measure(std::nullopt);
  } else if (event->button() == Qt::MiddleButton) {
    panning_ = at;
  } else {
    event->ignore();  // the window's
  }
}

void Canvas::hover_at(QPoint at) {
  std::optional<view::Hover> hover;
  if (at.y() >= view::kHeaderHeight) {
    const view::Hit hit = hit_at(at);
    const view::Point point{at.x(), at.y() - view::kHeaderHeight};
    if (const std::optional<size_t> jump =
            view::jump_at(session_.path.shown(), view::rows_area(session_), point)) {
      hover = view::Hover{.at = point, .slice = {}, .piece = {}, .jump = static_cast<int>(*jump)};
    } else if (hit.slice || hit.piece || hit.memory >= 0) {
      hover = view::Hover{.at = point,
                          .slice = hit.slice,
                          .piece = hit.piece,
                          .rank_index = hit.row->rank_index,
                          .folded = hit.folded,
                          .memory = hit.memory};
    }
  }
  if (!hover && !session_.tracks.hover()) return;
  session_.tracks.set_hover(std::move(hover));
  emit hover_changed();
}

void Canvas::mouseMoveEvent(QMouseEvent* event) {
  if (!session_.is_open()) return;
  const QPoint at = event->position().toPoint();
  if (panning_) {
    session_.viewport.pan(panning_->x() - at.x());
    session_.tracks.scroll_by(panning_->y() - at.y());
    panning_ = at;
    emit changed();
    return;
  }
  if (pressed_) {
    dragging_ = dragging_ || std::abs(at.x() - pressed_->x()) >= kDragFrom;
    if (dragging_) {
      const view::TimeScale scale = session_.viewport.scale();
      const Interval range{scale.time_of(std::min(at.x(), pressed_->x())),
                           scale.time_of(std::max(at.x(), pressed_->x()) + 1)};
      if (measuring_) {
        session_.viewport.measure(range);
        emit hover_changed();
      } else {
        session_.selecting.select_range(range);
        emit changed();
      }
    }
    return;
  }
  hover_at(at);
}

void Canvas::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() == Qt::MiddleButton) panning_.reset();
  if (event->button() != Qt::LeftButton || !pressed_) return;
  const QPoint at = *pressed_;
  pressed_.reset();
  if (dragging_ || !session_.is_open()) return;
  if (at.y() < view::kHeaderHeight) {
    if (const auto step = step_at(at.x()))
      (void)session_.selecting.select("step:" + std::to_string(*step));
  } else {
    session_.selecting.click(hit_at(at));
  }
  emit changed();
}

void Canvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (!session_.is_open() || event->button() != Qt::LeftButton) return;
  const QPoint at = event->position().toPoint();
  if (at.y() < view::kHeaderHeight) return;
  const view::Hit hit = hit_at(at);
  if (!hit.slice) return;
  session_.selecting.click(hit);
  session_.selecting.focus();
  emit changed();
}

void Canvas::wheelEvent(QWheelEvent* event) {
  if (!session_.is_open()) return;
  strokes_.follow(*event, session_.viewport, session_.tracks, width());
  event->accept();
  emit changed();
}

bool Canvas::event(QEvent* event) {
  const std::optional<Pinch> pinch = pinch_of(*event);
  if (!pinch || !session_.is_open()) return Pane::event(event);
  zoom_by_pinch(*pinch, session_.viewport, static_cast<int>(pinch->at.x()));
  emit changed();
  return true;
}

void Canvas::leaveEvent(QEvent*) {
  if (!session_.tracks.hover()) return;
  session_.tracks.set_hover(std::nullopt);
  emit hover_changed();
}

Overview::Overview(view::Session& session, Look& look, QWidget* parent)
    : Pane(
          look,
          [&session](int width, int) {
            if (!session.is_open()) return view::DrawList();
            return view::draw_overview(session.model(), session.viewport.whole(), width);
          },
          parent),
      session_(session) {
  set_overlay([&session](int width, int) {
    if (!session.is_open()) return view::DrawList();
    return view::draw_brush(session.viewport.range(), session.viewport.whole(), width);
  });
  setFixedHeight(view::kOverviewHeight);
  setAccessibleName(tr("Time bar"));
}

void Overview::centre_at(int x) {
  if (!session_.is_open()) return;
  const TraceNs middle = view::TimeScale(session_.viewport.whole(), width()).time_of(x);
  const DurationNs length = session_.viewport.range().length();
  const TraceNs begin = middle - DurationNs{length.ns / 2};
  session_.viewport.show({begin, begin + length});
  emit changed();
}

void Overview::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) centre_at(static_cast<int>(event->position().x()));
}

void Overview::mouseMoveEvent(QMouseEvent* event) {
  if (event->buttons().testFlag(Qt::LeftButton)) {
    centre_at(static_cast<int>(event->position().x()));
  }
}

int Overview::canvas_pixel(double x) const {
  const TraceNs at =
      view::TimeScale(session_.viewport.whole(), width()).time_of(static_cast<int>(x));
  return session_.viewport.scale().pixel_of(at);
}

// There are no rows here: the wheel zooms.
void Overview::wheelEvent(QWheelEvent* event) {
  if (!session_.is_open()) return;
  if (std::abs(event->angleDelta().x()) > std::abs(event->angleDelta().y())) {
    strokes_.follow(*event, session_.viewport, session_.tracks, width());
  } else {
    zoom_by_wheel(*event, session_.viewport, canvas_pixel(event->position().x()));
  }
  event->accept();
  emit changed();
}

bool Overview::event(QEvent* event) {
  const std::optional<Pinch> pinch = pinch_of(*event);
  if (!pinch || !session_.is_open()) return Pane::event(event);
  zoom_by_pinch(*pinch, session_.viewport, canvas_pixel(pinch->at.x()));
  emit changed();
  return true;
}

Tracks::Tracks(view::Session& session, Look& look, QWidget* parent)
    : Pane(
          look,
          [&session, &look](int width, int height) {
            if (session.is_open()) {
              return view::draw_tracks(session, width, height, look.measure());
            }
            view::DrawList list;
            list.rect({0, 0, width, height}, view::Role::kWindow);
            return list;
          },
          parent),
      session_(session) {
  set_overlay([&session](int width, int) {
    if (!session.is_open()) return view::DrawList();
    return view::draw_rank_drop(session.model(), session.tracks, width);
  });
  setAccessibleName(tr("Tracks"));
}

const view::Row* Tracks::row_at(QPoint at) const {
  return session_.tracks.layout().at(session_.tracks.layout_y(at.y()));
}

void Tracks::mousePressEvent(QMouseEvent* event) {
  if (!session_.is_open() || event->button() != Qt::LeftButton) return;
  pressed_ = event->position().toPoint();
  dragging_ = false;
}

// What is held follows the mouse; near the edges the list scrolls along.
void Tracks::mouseMoveEvent(QMouseEvent* event) {
  if (!session_.is_open() || !pressed_) return;
  const QPoint at = event->position().toPoint();
  if (!dragging_) {
    const view::Row* row = row_at(*pressed_);
    if (std::abs(at.y() - pressed_->y()) < kDragFrom || row == nullptr || row->pinned ||
        row->kind != view::RowKind::kRank)
      return;
    dragging_ = true;
    dragged_ = session_.model().ranks[static_cast<size_t>(row->rank_index)].rank;
  }
  const int scroll = session_.tracks.scroll();
  if (at.y() < session_.tracks.layout().fixed_height + kEdge) session_.tracks.scroll_by(-kEdge);
  if (at.y() > height() - kEdge) session_.tracks.scroll_by(kEdge);
  session_.tracks.drag_rank(dragged_, at.y());
  if (session_.tracks.scroll() == scroll) {
    update_overlay();
  } else {
    emit changed();
  }
}

void Tracks::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !pressed_ || !session_.is_open()) return;
  const QPoint at = *std::exchange(pressed_, std::nullopt);
  if (std::exchange(dragging_, false)) {
    session_.tracks.drop_rank();
  } else {
    click(at);
  }
  emit changed();
}

bool Tracks::cancel_drag() {
  pressed_.reset();
  session_.tracks.cancel_drag();
  update_overlay();
  return std::exchange(dragging_, false);
}

void Tracks::click(QPoint at) {
  const view::Row* row = row_at(at);
  if (row == nullptr) return;
  if (row->kind == view::RowKind::kHost ||
      (row->kind == view::RowKind::kRank && at.x() < kFoldMarkWidth)) {
    session_.tracks.toggle(*row);
  } else {
    session_.selecting.click({.row = row, .time = session_.selecting.range().begin});
  }
}

void Tracks::contextMenuEvent(QContextMenuEvent* event) {
  if (!session_.is_open()) return;
  const bool by_mouse = event->reason() == QContextMenuEvent::Mouse;
  const view::Row* row = by_mouse ? row_at(event->pos()) : nullptr;
  if (row != nullptr && row->rank_index >= 0) {
    session_.selecting.click({.row = row, .time = session_.selecting.range().begin});
    emit changed();
  }
  emit menu_wanted(event->globalPos());
}

void Tracks::mouseDoubleClickEvent(QMouseEvent* event) {
  if (!session_.is_open()) return;
  const view::Row* row = row_at(event->position().toPoint());
  if (row == nullptr || row->kind != view::RowKind::kRank) return;
  session_.tracks.toggle(*row);
  emit changed();
}

void Tracks::wheelEvent(QWheelEvent* event) {
  if (!session_.is_open()) return;
  strokes_.scroll(*event, session_.tracks);
  event->accept();
  emit changed();
}

}  // namespace dprof::widgets
