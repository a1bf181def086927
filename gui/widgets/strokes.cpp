// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/strokes.h"

#include <QNativeGestureEvent>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

namespace dprof::widgets {
namespace {

constexpr double kNotch = 120;          // as Qt counts
constexpr int kRowsPerNotch = 2;        // of rows' height
constexpr double kWidthPerNotch = 0.1;  // of the axis
constexpr double kZoomPerNotch = 0.8;   // of the range
constexpr int kParts = 1'000'000;       // a zoom as a fraction

// Right and down, in pixels. What a trackpad says is meant for the screen; a wheel has notches.
QPointF stroke_of(const QWheelEvent& event, double notch_x, double notch_y) {
  // Without phases, as on X11, pixels depend on the driver.
  if (event.phase() != Qt::NoScrollPhase && !event.pixelDelta().isNull()) return event.pixelDelta();
  const QPointF notches = QPointF(event.angleDelta()) / kNotch;
  return {notches.x() * notch_x, notches.y() * notch_y};
}

double row_notch() { return kRowsPerNotch * view::kRowHeight; }

void zoom_to(view::Viewport& viewport, int pixel, double share) {
  viewport.zoom(pixel, static_cast<int>(std::lround(share * kParts)), kParts);
}

}  // namespace

int Carry::whole(double by) {
  rest_ += by;
  const double whole = std::trunc(rest_);
  rest_ -= whole;
  return static_cast<int>(whole);
}

void zoom_by_wheel(const QWheelEvent& event, view::Viewport& viewport, int pixel) {
  // Shift or Alt turn the wheel sideways on some platforms.
  const QPoint angle = event.angleDelta();
  const double notches = (angle.y() != 0 ? angle.y() : angle.x()) / kNotch;
  if (notches != 0) zoom_to(viewport, pixel, std::pow(kZoomPerNotch, std::clamp(notches, -8., 8.)));
}

void Strokes::follow(const QWheelEvent& event, view::Viewport& viewport, view::Tracks& tracks,
                     int width) {
  const QPointF stroke = stroke_of(event, width * kWidthPerNotch, row_notch());
  const bool sideways = std::abs(event.angleDelta().x()) > std::abs(event.angleDelta().y());
  if (event.modifiers().testFlag(Qt::ControlModifier)) {
    zoom_by_wheel(event, viewport, static_cast<int>(event.position().x()));
  } else if (sideways) {
    viewport.pan(x_.whole(-stroke.x()));
  } else if (event.modifiers().testFlag(Qt::ShiftModifier)) {
    viewport.pan(x_.whole(-stroke_of(event, 0, width * kWidthPerNotch).y()));
  } else {
    tracks.scroll_by(y_.whole(-stroke.y()));
  }
}

void Strokes::scroll(const QWheelEvent& event, view::Tracks& tracks) {
  tracks.scroll_by(y_.whole(-stroke_of(event, 0, row_notch()).y()));
}

std::optional<Pinch> pinch_of(const QEvent& event) {
  if (event.type() != QEvent::NativeGesture) return std::nullopt;
  const auto& gesture = static_cast<const QNativeGestureEvent&>(event);
  if (gesture.gestureType() != Qt::ZoomNativeGesture) return std::nullopt;
  return Pinch{gesture.position(), gesture.value()};
}

void zoom_by_pinch(const Pinch& pinch, view::Viewport& viewport, int pixel) {
  if (pinch.by != 0) zoom_to(viewport, pixel, 1 / (1 + std::clamp(pinch.by, -0.5, 1.)));
}

}  // namespace dprof::widgets
