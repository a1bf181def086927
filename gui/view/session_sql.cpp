// SPDX-License-Identifier: Apache-2.0
// What a session does with results of the dock SQL: shows what their lines are about, and makes
// tracks of them.
#include <fmt/format.h>

#include <algorithm>

#include "gui/view/result_track.h"
#include "gui/view/session.h"
#include "gui/view/texts.h"

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

std::vector<analyzer::TraceFile> Session::traces_to_ask() const {
  std::vector<analyzer::TraceFile> traces;
  const bool all = sql_.ranks() == SqlRanks::kAll || selection_.ranks.empty();
  for (const analyzer::TraceFile& trace : model_->run.traces) {
    if (model_->rank(trace.rank) == nullptr) continue;
    if (all || selection_.has_rank(trace.rank)) traces.push_back(trace);
  }
  return traces;
}

void Session::choose_result_line(size_t line, std::optional<size_t> column) {
  if (sql_.result() == nullptr || line >= sql_.result()->rows.size()) return;
  const analyzer::SqlResult& result = *sql_.result();
  sql_.choose(line);
  std::optional<NamedRow> row = column ? named_row(result, line, *column) : std::nullopt;
  if (!row) row = named_row(result, line);
  if (row && select(selector_of(*row)).ok()) return;
  // Rows that are not on the timeline, or not yet: its rank is loaded now that it is chosen.
  const int rank = analyzer::rank_of(result.rows[line]);
  if (model_->rank(rank) == nullptr) return;
  select_rank(rank);
  const std::optional<TimeColumns> columns = time_columns(result);
  const auto span = columns ? span_of_line(*model_, result, *columns, line) : std::nullopt;
  if (!span) return;
  select_range(*span);
  if (span->begin < range_.begin || span->end > range_.end) focus();
}

bool Session::next_result_line(int by) {
  if (sql_.result() == nullptr || sql_.result()->rows.empty()) return false;
  const auto lines = static_cast<int64_t>(sql_.result()->rows.size());
  const int64_t before = by > 0 ? -1 : lines;
  const int64_t next = (sql_.line() ? static_cast<int64_t>(*sql_.line()) : before) + by;
  if (next < 0 || next >= lines) return false;
  choose_result_line(static_cast<size_t>(next));
  return true;
}

Status Session::make_result_track() {
  const SharedSqlResult& result = sql_.result();
  if (result == nullptr || !time_columns(*result)) {
    return fail(Code::kUsage, say("the result has no times to show"),
                say("name a column start_ns, time_ns or ts, and another duration_ns"));
  }
  if (has_result_track()) return Done{};
  const std::string title = free_title(*model_, title_of_statement(sql_.result_text()));
  const std::vector<SharedResultLanes> lanes = lanes_of_result(*model_, result, title);
  for (size_t r = 0; r < lanes.size(); ++r) {
    if (lanes[r]) model_->ranks[r].results.push_back(lanes[r]);
  }
  relayout();
  return Done{};
}

bool Session::has_result_track() const {
  return sql_.result() != nullptr && std::ranges::any_of(model_->ranks, [&](const RankModel& rank) {
           return std::ranges::any_of(rank.results, [&](const SharedResultLanes& lanes) {
             return lanes->result == sql_.result();
           });
         });
}

void Session::remove_results(const std::function<bool(const ResultLanes&)>& matches) {
  for (const RankModel& rank : model_->ranks)
    std::erase_if(rank.results, [&](const SharedResultLanes& lanes) { return matches(*lanes); });
  // A place behind the threads means another track now, or none.
  const std::optional<SlicePlace>& slice = selection_.slice;
  const bool of_result = slice && static_cast<size_t>(slice->thread_index) >=
                                      rank_of(*model_, *slice).lanes().threads.size();
  if (of_result) selection_.slice.reset();
  relayout();
}

void Session::remove_result_track() {
  remove_results([&](const ResultLanes& lanes) { return lanes.result == sql_.result(); });
}

void Session::remove_result_tracks() {
  const std::string& track = selection_.track;
  const size_t slash = track.find("/sql:");
  const std::string word = slash == std::string::npos ? std::string() : track.substr(slash);
  remove_results([&](const ResultLanes& lanes) {
    return word.empty() || track_of(0, lanes.thread).ends_with(word);
  });
  if (!word.empty()) selection_.track.clear();
}

// A run that was read again: results are of what it was before, and say so.
void Session::take_over_results(const Model& former) {
  if (&former == model_.get()) return;
  sql_.grow_stale();
  for (const RankModel& rank : model_->ranks) {
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
