// SPDX-License-Identifier: Apache-2.0
// The meaning of wheels and trackpads on an axis of time and on rows.
#pragma once

#include <QPointF>
#include <optional>

#include "gui/view/session/tracks.h"
#include "gui/view/session/viewport.h"

class QEvent;
class QWheelEvent;

namespace dprof::widgets {

// Whole pixels of small movements; what is less than one is kept for the next.
class Carry {
 public:
  [[nodiscard]] int whole(double by);

 private:
  double rest_ = 0;
};

// Two-finger strokes and turned wheels of one widget.
class Strokes {
 public:
  // Zooms at a pixel with Ctrl, pans with Shift or sideways, else scrolls rows. `width`: of the
  // axis of time.
  void follow(const QWheelEvent& event, view::Viewport& viewport, view::Tracks& tracks, int width);
  // Rows alone.
  void scroll(const QWheelEvent& event, view::Tracks& tracks);

 private:
  Carry x_;
  Carry y_;
};

// A wheel that zooms, whatever is held: so much per notch, and in proportion for less than one.
void zoom_by_wheel(const QWheelEvent& event, view::Viewport& viewport, int pixel);

// Of a pinch: where it is, and by how much its fingers have parted since the last one; nullopt =
// the event is none.
struct Pinch {
  QPointF at;
  double by = 0;
};
[[nodiscard]] std::optional<Pinch> pinch_of(const QEvent& event);
// Fingers that part zoom in.
void zoom_by_pinch(const Pinch& pinch, view::Viewport& viewport, int pixel);

}  // namespace dprof::widgets
