// SPDX-License-Identifier: Apache-2.0
// The timeline's picture with its mouse: header and rows, wheel, drags, clicks, hover. The time bar
// above it.
#pragma once

#include <optional>
#include <utility>

#include "gui/view/accessible.h"
#include "gui/view/draw_session.h"
#include "gui/view/session/session.h"
#include "gui/widgets/panes.h"
#include "gui/widgets/strokes.h"

namespace dprof::widgets {

class Canvas : public Pane {
  Q_OBJECT

 public:
  Canvas(view::Session& session, Look& look, QWidget* parent = nullptr);
  // The mouse's place, or the middle: the pixel that stays when zooming.
  [[nodiscard]] int anchor() const;
  // The step under the mouse where its menu was asked for, once.
  [[nodiscard]] std::optional<int64_t> take_menu_step() {
    return std::exchange(menu_step_, std::nullopt);
  }
  // For screen readers: how many rows there are, and what they say.
  [[nodiscard]] size_t rows() const {
    return session_.is_open() ? session_.tracks.layout().rows.size() : 0;
  }
  [[nodiscard]] view::AccessibleRow accessible_row(size_t index) const {
    return view::accessible_row(view::rows_area(session_), session_.selecting.selection(), index,
                                width());
  }
  [[nodiscard]] std::string accessible_value(size_t index) const {
    return view::accessible_value(view::rows_area(session_), index);
  }

 signals:
  void changed();                   // the session has changed
  void hover_changed();             // only what is under the mouse
  void menu_wanted(QPoint global);  // of what is selected

 protected:
  void contextMenuEvent(QContextMenuEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void leaveEvent(QEvent* event) override;
  bool event(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  [[nodiscard]] view::Hit hit_at(QPoint at) const;
  [[nodiscard]] std::optional<int64_t> step_at(int x) const;
  void hover_at(QPoint at);

  view::Session& session_;
  std::optional<QPoint> pressed_;
  Strokes strokes_;
  std::optional<QPoint> panning_;
  bool dragging_ = false;
  bool measuring_ = false;
  std::optional<int64_t> menu_step_;
};

class Overview : public Pane {
  Q_OBJECT

 public:
  Overview(view::Session& session, Look& look, QWidget* parent = nullptr);

 signals:
  void changed();

 protected:
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void centre_at(int x);
  // The place on the canvas of the moment that is shown here.
  [[nodiscard]] int canvas_pixel(double x) const;

  view::Session& session_;
  Strokes strokes_;
};

// The list of tracks beside the canvas: a click selects a rank, on its mark folds it; a drag moves
// it among those of its host.
class Tracks : public Pane {
  Q_OBJECT

 public:
  Tracks(view::Session& session, Look& look, QWidget* parent = nullptr);
  // Lets go of what is dragged, where it was; false = nothing is.
  bool cancel_drag();

 signals:
  void changed();
  void menu_wanted(QPoint global);

 protected:
  void contextMenuEvent(QContextMenuEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;

 private:
  [[nodiscard]] const view::Row* row_at(QPoint at) const;
  void click(QPoint at);

  view::Session& session_;
  std::optional<QPoint> pressed_;
  bool dragging_ = false;
  int dragged_ = 0;  // rank
  Strokes strokes_;
};

}  // namespace dprof::widgets
