// SPDX-License-Identifier: Apache-2.0
// What an event led to or came from: on its own rank as its trace tells, and on others by messages
// and collectives.
//
// Threading  the user interface's thread only.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/lanes/related.h"
#include "gui/view/model/model.h"
#include "gui/view/model/selection.h"
#include "gui/view/model/slice_place.h"

namespace dprof::view {

inline constexpr size_t kMostInFlow = 20;  // each is looked for among all events

// A message that the event is a side of. Its ends have a place where events are loaded.
struct ShownMessage {
  uint32_t message = 0;  // into Model::messages
  std::optional<SlicePlace> send;
  std::optional<SlicePlace> receive;
};

class EventFlow {
 public:
  // What it is asked is about what is selected.
  EventFlow(const SharedModel& model, const Selection& selection)
      : model_(model), selection_(selection) {}

  // `rows` as they were asked for from the trace: of more than kMostInFlow the first.
  void take(const SlicePlace& of, const std::vector<analyzer::RelatedRow>& rows);
  // More events are loaded.
  void find_message_ends();
  // The events of that rank are others now.
  void forget_if_of(size_t rank_index);
  void forget();

  // With the selected event and the other sides of its messages, by time; empty = it has none.
  [[nodiscard]] std::vector<SlicePlace> places() const;
  [[nodiscard]] std::vector<ShownMessage> messages() const;
  [[nodiscard]] bool is_cut() const { return is_of_selected() && cut_; }
  // The collective among them: of the row that it was asked for, or of one that it led to.
  [[nodiscard]] const std::optional<size_t>& collective() const { return collective_; }

 private:
  [[nodiscard]] bool holds(const SlicePlace& place) const;
  [[nodiscard]] bool is_of_selected() const { return selection_.slice && holds(*selection_.slice); }

  const SharedModel& model_;
  const Selection& selection_;
  std::vector<SlicePlace> places_;
  std::vector<ShownMessage> messages_;
  std::optional<size_t> collective_;
  bool cut_ = false;
};

}  // namespace dprof::view
