// SPDX-License-Identifier: Apache-2.0
// The events that an event led to or came from: on its own rank according to its trace, and on
// others through messages and collectives.
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

inline constexpr size_t kMostInFlow = 20;  // each is searched among all events

// A message of which the event is a side. Its ends have positions where events are loaded.
struct ShownMessage {
  uint32_t message = 0;  // into Model::messages
  std::optional<SlicePlace> send;
  std::optional<SlicePlace> receive;
};

class EventFlow {
 public:
  // All queries are about the selection.
  EventFlow(const SharedModel& model, const Selection& selection)
      : model_(model), selection_(selection) {}

  // `rows` as requested from the trace; only the first kMostInFlow are used.
  void take(const SlicePlace& of, const std::vector<analyzer::RelatedRow>& rows);
  // Call after more events are loaded.
  void find_message_ends();
  // Call when that rank's events have been replaced.
  void forget_if_of(size_t rank_index);
  void forget();

  // Includes the selected event and the other sides of its messages, by time; empty = no flow.
  [[nodiscard]] std::vector<SlicePlace> places() const;
  [[nodiscard]] std::vector<ShownMessage> messages() const;
  [[nodiscard]] bool is_cut() const { return is_of_selected() && cut_; }
  // The collective in the flow: of the requested row, or of one that it led to.
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
