// SPDX-License-Identifier: Apache-2.0
#include "gui/view/docks/range_title.h"

#include <fmt/format.h>

#include "base/format.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/model/event_loading.h"

namespace dprof::view {

std::string range_title(const Model& model, const Selecting& selecting, size_t ranks) {
  const Interval range = selecting.range();
  const int64_t resolution = std::max<int64_t>(range.length().ns / 1000, 1);
  std::string title =
      fmt::format("{} – {} · {}", format_moment(range.begin, resolution),
                  format_moment(range.end, resolution), format_duration(range.length()));
  const Selection& selection = selecting.selection();
  if (selection.step && !selection.range) {
    title += say(" · step {}", *selection.step);
  } else if (!selection.range) {
    title += say(" · visible range");
  }
  return title + say_count(ranks, " · {} rank", " · {} ranks", ranks) +
         without_events(model, selection.ranks);
}

}  // namespace dprof::view
