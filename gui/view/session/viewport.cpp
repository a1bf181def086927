// SPDX-License-Identifier: Apache-2.0
#include "gui/view/session/viewport.h"

#include <algorithm>
#include <utility>

namespace dprof::view {

void Viewport::open(Page page) {
  page_ = page;
  history_.forget();
  range_ = whole();
}

void Viewport::resize(int width, int height) {
  width_ = std::max(width, 1);
  tracks_.set_height(height);
}

Interval Viewport::whole() const { return padded(model_->span, 5); }

void Viewport::set_range(Interval range) {
  range_ = kept_inside(range, whole());
  tracks_.set_hover(std::nullopt);
}

void Viewport::look_at(const Looked& looked) {
  page_ = looked.page;
  tracks_.set_filter(looked.filter);
  set_range(looked.range);
}

void Viewport::show_page(Page page) {
  if (page == page_) return;
  remember(History::Move::kJump);
  page_ = page;
}

void Viewport::show_on(Page page, Interval range) {
  remember(History::Move::kJump);
  page_ = page;
  set_range(range);
}

void Viewport::set_filter(std::string filter) {
  if (filter == tracks_.arrangement().filter) return;
  remember(History::Move::kFilter);
  tracks_.set_filter(std::move(filter));
}

void Viewport::zoom(int pixel, int numerator, int denominator) {
  remember(History::Move::kZoom);
  set_range(zoomed(scale(), pixel, numerator, denominator, whole()));
}

void Viewport::pan(int pixels) {
  remember(History::Move::kZoom);
  set_range(panned(scale(), pixels, whole()));
}

void Viewport::show(Interval range) {
  remember(History::Move::kJump);
  set_range(range);
}

void Viewport::back() {
  if (const std::optional<Looked> before = history_.back(looked())) look_at(*before);
}

void Viewport::forward() {
  if (const std::optional<Looked> after = history_.forward(looked())) look_at(*after);
}

void Viewport::go_to_start() {
  const Interval bounds = whole();
  show({bounds.begin, bounds.begin + range_.length()});
}

void Viewport::go_to_end() {
  const Interval bounds = whole();
  show({bounds.end - range_.length(), bounds.end});
}

void Viewport::focus(Interval part) {
  if (holds(part)) {
    const DurationNs least{static_cast<int64_t>(width_)};
    const DurationNs length = std::max(part.length(), least);
    show(padded({part.begin, part.begin + length}, 50));
    return;
  }
  const DurationNs length = std::max(range_.length(), part.length());
  const DurationNs before{(length.ns - part.length().ns) / 2};
  show({part.begin - before, part.begin - before + length});
}

}  // namespace dprof::view
