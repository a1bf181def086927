// SPDX-License-Identifier: Apache-2.0
#include "gui/view/docks/range_title.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"

namespace dprof::view {

std::string range_title(const Session& session, size_t ranks) {
  const Interval range = session.selected_range();
  const int64_t resolution = std::max<int64_t>(range.length().ns / 1000, 1);
  std::string title =
      fmt::format("{} – {} · {}", format_moment(range.begin, resolution),
                  format_moment(range.end, resolution), format_duration(range.length()));
  const Selection& selection = session.selection();
  if (selection.step && !selection.range) {
    title += fmt::format(" · step {}", *selection.step);
  } else if (!selection.range) {
    title += " · visible range";
  }
  title += fmt::format(" · {} {}", ranks, ranks == 1 ? "rank" : "ranks");
  const int64_t missing = std::ranges::count_if(session.model().ranks, [&](const RankModel& rank) {
    return !rank.events->loaded && (selection.ranks.empty() || selection.has_rank(rank.rank));
  });
  if (missing > 0) title += fmt::format(" · without {} whose events are not loaded", missing);
  return title;
}

}  // namespace dprof::view
