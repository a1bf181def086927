// SPDX-License-Identifier: Apache-2.0
// What a session keeps when its run is read again or opened another day, and notes.
#include <algorithm>
#include <utility>

#include "gui/view/session.h"

namespace dprof::view {

// What the run no longer has is passed over.
void Session::apply_all(const std::vector<std::string>& selectors) {
  selection_ = {};
  for (const std::string& text : selectors) {
    if (const Result<Selector> selector = parse_selector(text); selector.ok())
      (void)apply(*model_, *selector, selection_);
  }
}

bool Session::is_as_opened() const { return saved_view() == opened_; }

void Session::renew(std::shared_ptr<const Model> model) {
  if (is_as_opened()) {
    open(std::move(model));
    return;
  }
  const std::vector<std::string> selectors = selectors_of(*model_, selection_);
  const std::shared_ptr<const Model> former = std::exchange(model_, std::move(model));
  forget_all();
  take_over_results(*former);
  apply_all(selectors);
  relayout();
}

SavedView Session::saved_view() const {
  return {.range = range_,
          .page = std::string(info_of(page_).word),
          .dock = std::string(info_of(dock_).word),
          .arrangement = arrangement_,
          .selectors = selectors_of(*model_, selection_),
          .notes = notes_,
          .query = sql_.text(),
          .queries = sql_.history()};
}

void Session::restore(const SavedView& view) {
  if (const auto page = page_of(view.page)) page_ = *page;
  if (const auto dock = dock_of(view.dock)) dock_ = *dock;
  arrangement_ = view.arrangement;
  notes_ = view.notes;
  sql_.restore(view.query, view.queries);
  relayout();
  apply_all(view.selectors);
  if (!view.range.empty()) show(view.range);
}

void Session::add_note(Interval at, std::string text) {
  if (text.empty()) return;
  notes_.push_back({at, std::move(text)});
  std::ranges::stable_sort(notes_, {}, [](const Note& note) { return note.at.begin; });
}

void Session::remove_note(size_t index) {
  if (index < notes_.size()) notes_.erase(notes_.begin() + static_cast<ptrdiff_t>(index));
}

void Session::show_note(size_t index) {
  if (index >= notes_.size()) return;
  const Interval at = notes_[index].at;
  if (at.empty()) {
    const DurationNs half{range_.length().ns / 2};
    show({at.begin - half, at.begin + half});
  } else {
    select_range(at);
    show(padded(at, 50));
  }
}

}  // namespace dprof::view
