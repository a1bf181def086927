// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/panes.h"

#include <QApplication>
#include <QMouseEvent>
#include <QPaintEngine>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>

namespace dprof::widgets {
namespace {

// Where lines and letters are kept as such, a picture of them would be a loss.
bool draws_vectors(const QPainter& painter) {
  const QPaintEngine::Type type = painter.paintEngine()->type();
  return type == QPaintEngine::SVG || type == QPaintEngine::Pdf;
}

}  // namespace

Pane::Pane(Look& look, Draw draw, QWidget* parent)
    : QWidget(parent), look_(look), draw_(std::move(draw)) {
  setAttribute(Qt::WA_OpaquePaintEvent);
}

void Pane::refresh() {
  stale_ = true;
  update();
}

void Pane::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  refresh();
}

void Pane::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (draws_vectors(painter)) {
    look_.play(draw_(width(), height()), painter);
    if (overlay_) look_.play(overlay_(width(), height()), painter);
    return;
  }
  const qreal ratio = devicePixelRatioF();
  if (stale_ || picture_.devicePixelRatio() != ratio) {
    const QSize pixels = (QSizeF(size()) * ratio).toSize();
    if (picture_.size() != pixels) picture_ = QImage(pixels, QImage::Format_ARGB32_Premultiplied);
    picture_.setDevicePixelRatio(ratio);
    picture_.fill(look_.colour(view::Role::kCanvas));
    QPainter into(&picture_);
    look_.play(draw_(width(), height()), into);
    stale_ = false;
  }
  painter.drawImage(0, 0, picture_);
  if (overlay_) look_.play(overlay_(width(), height()), painter);
}

QString to_qstring(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

QTabBar* make_tabs(Look& look) {
  constexpr int kTabsHeight = 38;
  auto* tabs = new QTabBar;
  dress_tabs(*tabs, look);
  tabs->setFixedHeight(kTabsHeight);
  return tabs;
}

void dress_tabs(QTabBar& tabs, Look& look) {
  tabs.setFont(look.font(view::Font::kHeading));
  tabs.setDrawBase(false);
  tabs.setExpanding(false);
}

ScrollPane::ScrollPane(Look& look, Draw draw, Drawn drawn, QWidget* parent)
    : QAbstractScrollArea(parent), look_(look), draw_(std::move(draw)), drawn_(drawn) {
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAsNeeded);
  constexpr int kWheelStep = 24;
  verticalScrollBar()->setSingleStep(kWheelStep);
  horizontalScrollBar()->setSingleStep(kWheelStep);
}

void ScrollPane::refresh() {
  redraw();
  viewport()->update();
}

void ScrollPane::redraw() {
  const QSize shown = viewport()->size();
  panel_ = draw_(shown.width(), shown.height(), verticalScrollBar()->value());
  verticalScrollBar()->setPageStep(shown.height());
  verticalScrollBar()->setRange(0, std::max(panel_.height - shown.height(), 0));
  horizontalScrollBar()->setPageStep(shown.width());
  horizontalScrollBar()->setRange(0, std::max(panel_.width - shown.width(), 0));
}

void ScrollPane::reveal(const view::Box& box) {
  QScrollBar* bar = verticalScrollBar();
  constexpr int kMargin = 8;
  if (box.y < bar->value()) bar->setValue(box.y - kMargin);
  const int below = box.y + box.h - viewport()->height();
  if (below > bar->value()) bar->setValue(below + kMargin);
}

void ScrollPane::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  painter.fillRect(viewport()->rect(), look_.colour(view::Role::kWindow));
  painter.translate(-horizontalScrollBar()->value(), -verticalScrollBar()->value());
  look_.play(panel_.list, painter);
}

void ScrollPane::resizeEvent(QResizeEvent*) { refresh(); }

void ScrollPane::scrollContentsBy(int, int) {
  if (drawn_ == Drawn::kInView) redraw();
  viewport()->update();
}

QPoint ScrollPane::in_content(const QMouseEvent& event) const {
  return event.position().toPoint() +
         QPoint(horizontalScrollBar()->value(), verticalScrollBar()->value());
}

void ScrollPane::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return event->ignore();
  follow(in_content(*event), true);
}

void ScrollPane::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return event->ignore();
  const QPoint at = in_content(*event);
  const auto slider = std::ranges::find_if(
      panel_.sliders, [&](const view::Slider& one) { return one.area.contains(at.x(), at.y()); });
  if (slider != panel_.sliders.end()) {
    slider_ = *slider;
    return slide(at.x());
  }
  if (panel_.brush && panel_.brush->area.contains(at.x(), at.y())) {
    brush_ = panel_.brush;
    pressed_ = at.x();
    return;  // a click only once it is no drag
  }
  follow(at, false);
}

void ScrollPane::mouseMoveEvent(QMouseEvent* event) {
  const int x = in_content(*event).x();
  if (slider_) return slide(x);
  if (!brush_ || (!dragged_ && std::abs(x - pressed_) < QApplication::startDragDistance())) return;
  dragged_ = true;
  const auto [from, to] = std::minmax(pressed_, x);
  emit followed({.box = {},
                 .follow = [choose = brush_->choose, from = from, to = to] { choose(from, to); },
                 .copies = {}},
                false);
}

void ScrollPane::mouseReleaseEvent(QMouseEvent* event) {
  slider_.reset();
  const bool clicked = brush_ && !dragged_;
  brush_.reset();
  dragged_ = false;
  if (clicked) follow(in_content(*event), false);
}

void ScrollPane::slide(int x) {
  emit followed({.box = {}, .follow = [set = slider_->set, x] { set(x); }, .copies = {}}, false);
}

void ScrollPane::follow(QPoint at, bool twice) {
  const auto link = std::ranges::find_if(panel_.links, [&](const view::Link& candidate) {
    return candidate.box.contains(at.x(), at.y());
  });
  if (link == panel_.links.end()) return;
  const view::Link copy = *link;  // following it draws the panel anew
  emit followed(copy, twice);
}

}  // namespace dprof::widgets
