// SPDX-License-Identifier: Apache-2.0
// The visible part of a run, the page, and the history of earlier views.
//
// Threading  the user interface's thread only.
#pragma once

#include <optional>
#include <string>

#include "gui/view/drawing/time_scale.h"
#include "gui/view/model/model.h"
#include "gui/view/session/history.h"
#include "gui/view/session/page.h"
#include "gui/view/session/tracks.h"

namespace dprof::view {

class Viewport {
 public:
  Viewport(const SharedModel& model, Tracks& tracks) : model_(model), tracks_(tracks) {}

  // A run is opened: shows all of it, with an empty history.
  void open(Page page);
  void forget_back() { history_.forget_back(); }
  // From a saved view.
  void restore(Page page) { page_ = page; }

  [[nodiscard]] Interval range() const { return range_; }
  [[nodiscard]] TimeScale scale() const { return {range_, width_}; }
  [[nodiscard]] bool holds(Interval part) const {
    return part.begin >= range_.begin && part.end <= range_.end;
  }
  [[nodiscard]] Interval whole() const;
  [[nodiscard]] Page page() const { return page_; }
  // Size of the area that shows rows, in pixels.
  void resize(int width, int height);

  void zoom(int pixel, int numerator, int denominator);
  void pan(int pixels);
  void show(Interval range);
  void show_all() { show(whole()); }
  // Fits it if it is already in view; otherwise scrolls to it.
  void focus(Interval part);
  void go_to_start();
  void go_to_end();
  void show_page(Page page);
  void show_on(Page page, Interval range);
  void set_filter(std::string filter);  // of the tracks
  // To the previous range, page and filter; consecutive zooms and pans are one step, and so are
  // changes of the filter.
  void back();
  void forward();

  // A length being measured; not part of the selection.
  [[nodiscard]] const std::optional<Interval>& measured() const { return measured_; }
  void measure(std::optional<Interval> range) { measured_ = range; }

 private:
  void set_range(Interval range);
  void remember(History::Move move) { history_.remember(looked(), move); }
  [[nodiscard]] Looked looked() const { return {range_, page_, tracks_.arrangement().filter}; }
  void look_at(const Looked& looked);

  const SharedModel& model_;
  Tracks& tracks_;
  Interval range_;
  int width_ = 1000;
  Page page_ = Page::kTimeline;
  History history_;
  std::optional<Interval> measured_;
};

}  // namespace dprof::view
