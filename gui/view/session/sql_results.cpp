// SPDX-License-Identifier: Apache-2.0
#include "gui/view/session/sql_results.h"

#include <fmt/format.h>

#include <algorithm>

#include "gui/view/drawing/texts.h"
#include "gui/view/model/result_track.h"

namespace dprof::view {
namespace {

// Makes track names unique.
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

std::vector<analyzer::TraceFile> SqlResults::traces_to_ask() const {
  std::vector<analyzer::TraceFile> traces;
  const bool all = console_.ranks() == SqlRanks::kAll || selecting_.selection().ranks.empty();
  for (const analyzer::TraceFile& trace : model_->run.traces) {
    if (model_->rank(trace.rank) == nullptr) continue;
    if (all || selecting_.selection().has_rank(trace.rank)) traces.push_back(trace);
  }
  return traces;
}

void SqlResults::choose_line(size_t line, std::optional<size_t> column) {
  if (console_.result() == nullptr || line >= console_.result()->rows.size()) return;
  const analyzer::SqlResult& result = *console_.result();
  console_.choose(line);
  std::optional<NamedRow> row = column ? named_row(result, line, *column) : std::nullopt;
  if (!row) row = named_row(result, line);
  if (row && selecting_.select(selector_of(*row)).ok()) return;
  // Handles rows that are not on the timeline, or not yet: the chosen rank is being loaded.
  const int rank = analyzer::rank_of(result.rows[line]);
  if (model_->rank(rank) == nullptr) return;
  selecting_.select_rank(rank);
  const std::optional<TimeColumns> columns = time_columns(result);
  const auto span = columns ? span_of_line(*model_, result, *columns, line) : std::nullopt;
  if (!span) return;
  selecting_.select_range(*span);
  if (!viewport_.holds(*span)) selecting_.focus();
}

bool SqlResults::next_line(int by) {
  if (console_.result() == nullptr || console_.result()->rows.empty()) return false;
  const auto lines = static_cast<int64_t>(console_.result()->rows.size());
  const int64_t before = by > 0 ? -1 : lines;
  const int64_t next = (console_.line() ? static_cast<int64_t>(*console_.line()) : before) + by;
  if (next < 0 || next >= lines) return false;
  choose_line(static_cast<size_t>(next));
  return true;
}

bool SqlResults::has_track() const {
  const SharedSqlResult& shown = console_.result();
  return shown != nullptr && std::ranges::any_of(model_->ranks, [&](const RankModel& rank) {
           return std::ranges::any_of(rank.results, [&](const SharedResultLanes& lanes) {
             return lanes->result == shown;
           });
         });
}

Status SqlResults::make_track() {
  const SharedSqlResult& result = console_.result();
  if (result == nullptr || !time_columns(*result)) {
    return fail(Code::kUsage, say("the result has no times to show"),
                say("name a column start_ns, time_ns or ts, and another duration_ns"));
  }
  if (!has_track()) {
    const std::string title = free_title(*model_, title_of_statement(console_.result_text()));
    const std::vector<SharedResultLanes> lanes = lanes_of_result(*model_, result, title);
    for (size_t r = 0; r < lanes.size(); ++r) {
      if (lanes[r]) model_->ranks[r].results.push_back(lanes[r]);
    }
  }
  tracks_.relayout();
  return Done{};
}

void SqlResults::remove(const std::function<bool(const ResultLanes&)>& matches) {
  for (const RankModel& rank : model_->ranks)
    std::erase_if(rank.results, [&](const SharedResultLanes& lanes) { return matches(*lanes); });
  // A position after the threads now means another track, or none.
  Selection selection = selecting_.selection();
  const std::optional<SlicePlace>& slice = selection.slice;
  const bool of_result = slice && static_cast<size_t>(slice->thread_index) >=
                                      rank_of(*model_, *slice).lanes().threads.size();
  if (of_result) selection.slice.reset();
  selecting_.set(std::move(selection));
  tracks_.relayout();
}

void SqlResults::remove_track() {
  remove([&](const ResultLanes& lanes) { return lanes.result == console_.result(); });
}

void SqlResults::remove_tracks() {
  const std::string& track = selecting_.selection().track;
  const size_t slash = track.find("/sql:");
  const std::string word = slash == std::string::npos ? std::string() : track.substr(slash);
  remove([&](const ResultLanes& lanes) {
    return word.empty() || track_of(0, lanes.thread).ends_with(word);
  });
  if (word.empty()) return;
  Selection selection = selecting_.selection();
  selection.track.clear();
  selecting_.set(std::move(selection));
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
