// SPDX-License-Identifier: Apache-2.0
#include "gui/view/session/result_tracks.h"

#include <fmt/format.h>

#include <algorithm>

#include "gui/view/drawing/texts.h"
#include "gui/view/model/layout.h"
#include "gui/view/model/result_track.h"

namespace dprof::view {
namespace {

// No two tracks have one name.
std::string free_title(const Model& model, const std::string& wanted) {
  const auto is_taken = [&](const std::string& title) {
    return std::ranges::any_of(model.ranks, [&](const RankModel& rank) {
      return std::ranges::any_of(rank.results, [&](const SharedResultLanes& lanes) {
        return track_of(0, lanes->thread) == track_of(0, {.name = title, .table = "sql"});
      });
    });
  };
  std::string title = wanted;
  for (int number = 2; is_taken(title); ++number) title = fmt::format("{} {}", wanted, number);
  return title;
}

}  // namespace

bool has_result_track(const Model& model, const SqlConsole& sql) {
  return sql.result() != nullptr && std::ranges::any_of(model.ranks, [&](const RankModel& rank) {
           return std::ranges::any_of(rank.results, [&](const SharedResultLanes& lanes) {
             return lanes->result == sql.result();
           });
         });
}

Status add_result_track(const Model& model, const SqlConsole& sql) {
  const SharedSqlResult& result = sql.result();
  if (result == nullptr || !time_columns(*result)) {
    return fail(Code::kUsage, say("the result has no times to show"),
                say("name a column start_ns, time_ns or ts, and another duration_ns"));
  }
  if (has_result_track(model, sql)) return Done{};
  const std::string title = free_title(model, title_of_statement(sql.result_text()));
  const std::vector<SharedResultLanes> lanes = lanes_of_result(model, result, title);
  for (size_t r = 0; r < lanes.size(); ++r) {
    if (lanes[r]) model.ranks[r].results.push_back(lanes[r]);
  }
  return Done{};
}

void remove_results(const Model& model, const std::function<bool(const ResultLanes&)>& matches) {
  for (const RankModel& rank : model.ranks)
    std::erase_if(rank.results, [&](const SharedResultLanes& lanes) { return matches(*lanes); });
}

void take_over_results(const Model& model, const Model& former) {
  for (const RankModel& rank : model.ranks) {
    const RankModel* before = former.rank(rank.rank);
    if (before == nullptr) continue;
    for (const SharedResultLanes& lanes : before->results) {
      const std::string older = say("older");
      ResultLanes old = *lanes;
      if (!old.note.starts_with(older))
        old.note = older + (old.note.empty() ? "" : ", ") + old.note;
      rank.results.push_back(std::make_shared<const ResultLanes>(std::move(old)));
    }
  }
}

}  // namespace dprof::view
