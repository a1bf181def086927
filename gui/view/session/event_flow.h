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
  // `rows` as they were asked for from the trace: of more than kMostInFlow the first.
  void show(const Model& model, const SlicePlace& of,
            const std::vector<analyzer::RelatedRow>& rows);
  // More events are loaded.
  void find_message_ends(const Model& model);
  // The events of that rank are others now.
  void forget_if_of(size_t rank_index);
  void forget() { *this = {}; }

  [[nodiscard]] bool holds(const std::optional<SlicePlace>& place) const;
  // By time, with the event that it was asked for.
  [[nodiscard]] const std::vector<SlicePlace>& places() const { return places_; }
  [[nodiscard]] const std::vector<ShownMessage>& messages() const { return messages_; }
  [[nodiscard]] bool is_cut() const { return cut_; }
  // The collective among them that is of `place`'s row, or of a row that it led to.
  [[nodiscard]] const std::optional<size_t>& collective() const { return collective_; }

 private:
  std::vector<SlicePlace> places_;
  std::vector<ShownMessage> messages_;
  std::optional<size_t> collective_;
  bool cut_ = false;
};

}  // namespace dprof::view
