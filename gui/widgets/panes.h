// SPDX-License-Identifier: Apache-2.0
// Widgets that show draw lists: a plain pane with a kept picture and an overlay, and one that
// scrolls.
#pragma once

#include <QAbstractScrollArea>
#include <QImage>
#include <QTabBar>
#include <QWidget>
#include <functional>
#include <string_view>

#include "gui/view/drawing/panel.h"
#include "gui/widgets/look.h"

namespace dprof::widgets {

// Keeps the static layer as a picture; update_overlay() repaints only what lies above it.
class Pane : public QWidget {
  Q_OBJECT

 public:
  using Draw = std::function<view::DrawList(int width, int height)>;

  Pane(Look& look, Draw draw, QWidget* parent = nullptr);
  void set_overlay(Draw overlay) { overlay_ = std::move(overlay); }
  // The static layer has changed.
  void refresh();
  void update_overlay() { update(); }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  Look& look_;
  Draw draw_;
  Draw overlay_;
  QImage picture_;
  bool stale_ = true;
};

[[nodiscard]] QString to_qstring(std::string_view text);

// Tabs as the window has them; titles are added by the caller.
[[nodiscard]] QTabBar* make_tabs(Look& look);
void dress_tabs(QTabBar& tabs, Look& look);

// Content that may be higher or wider than the pane.
class ScrollPane : public QAbstractScrollArea {
  Q_OBJECT

 public:
  // `top`: how far the content is scrolled down.
  using Draw = std::function<view::Panel(int width, int height, int top)>;
  enum class Drawn : uint8_t { kWhole, kInView };  // kInView: again whenever it scrolls

  ScrollPane(Look& look, Draw draw, Drawn drawn = Drawn::kWhole, QWidget* parent = nullptr);
  void refresh();
  [[nodiscard]] const std::vector<view::Link>& links() const { return panel_.links; }
  // Scrolls as little as needed to show a box of the content.
  void reveal(const view::Box& box);

 signals:
  void followed(const dprof::view::Link& link, bool twice);  // a link, by a click or a double click

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;

 private:
  void redraw();
  void follow(QPoint at, bool twice);
  void slide(int x);
  [[nodiscard]] QPoint in_content(const QMouseEvent& event) const;

  Look& look_;
  Draw draw_;
  Drawn drawn_;
  view::Panel panel_;
  std::optional<view::Brush> brush_;    // while it is dragged
  std::optional<view::Slider> slider_;  // while it is held
  int pressed_ = 0;                     // x in the content
  bool dragged_ = false;
};

}  // namespace dprof::widgets
