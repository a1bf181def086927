// SPDX-License-Identifier: Apache-2.0
// The page Ranks × steps with its mouse: a click chooses a rank and a step, a double click shows
// them on the timeline.
#pragma once

#include <optional>

#include "gui/view/pages/heatmap_page.h"
#include "gui/view/session/session.h"
#include "gui/widgets/panes.h"

namespace dprof::widgets {

class HeatmapPane : public Pane {
  Q_OBJECT

 public:
  HeatmapPane(view::Session& session, Look& look, QWidget* parent = nullptr);
  [[nodiscard]] const view::HeatmapPage& page() const { return page_; }

 signals:
  void changed();         // the session has changed
  void wants_timeline();  // of what is selected

 protected:
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;

 private:
  bool choose(view::Point at);

  view::Session& session_;
  view::HeatmapPage page_;
  std::optional<view::Point> mouse_;
};

}  // namespace dprof::widgets
