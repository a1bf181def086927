// SPDX-License-Identifier: Apache-2.0
#include "gui/view/session/notes.h"

#include <algorithm>
#include <utility>

namespace dprof::view {

void Notes::add(Interval at, std::string text) {
  if (text.empty()) return;
  all_.push_back({at, std::move(text)});
  std::ranges::stable_sort(all_, {}, [](const Note& note) { return note.at.begin; });
}

void Notes::remove(size_t index) {
  if (index < all_.size()) all_.erase(all_.begin() + static_cast<ptrdiff_t>(index));
}

void Notes::show(size_t index) {
  if (index >= all_.size()) return;
  const Interval at = all_[index].at;
  if (at.empty()) {
    const DurationNs half{viewport_.range().length().ns / 2};
    viewport_.show({at.begin - half, at.begin + half});
  } else {
    selecting_.select_range(at);
    viewport_.show(padded(at, 50));
  }
}

}  // namespace dprof::view
