// SPDX-License-Identifier: Apache-2.0
#include "gui/view/timeline/row_marks.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/ending/ending.h"
#include "base/format.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/session/landmarks.h"

namespace dprof::view {
namespace {

constexpr int kChipHeight = 15;
constexpr int kChipPadding = 6;

// On its thread's row; on the rank's row if its thread is unknown or folded away.
bool is_shown_on(const analyzer::LossSpan& loss, const RankModel& rank, const Row& row) {
  if (row.kind == RowKind::kRank) return row.folded || !loss.thread_id;
  const analyzer::ThreadLanes& thread =
      rank.row_lanes(static_cast<size_t>(row.thread_index)).thread;
  return thread.table != "gpu_activity" && thread.table != kResultTable &&
         thread.thread_id == loss.thread_id;
}

template <typename Draw>
void for_losses(const RowsArea& area, const Row& row, const Draw& draw) {
  if (row.kind != RowKind::kRank && row.kind != RowKind::kThread) return;
  const RankModel& rank = area.model.ranks[static_cast<size_t>(row.rank_index)];
  const TimeScale scale = area.scale;
  for (const analyzer::LossSpan& loss : rank.lanes().losses) {
    const bool seen = loss.span.end >= scale.range().begin && loss.span.begin <= scale.range().end;
    if (!seen || !is_shown_on(loss, rank, row)) continue;
    const int x0 = scale.pixel_of(loss.span.begin);
    draw(loss, x0, std::max(scale.pixel_of(loss.span.end), x0 + 2));
  }
}

std::string words_of(const analyzer::LossSpan& loss) {
  std::string reason(schema::word_of(loss.reason));
  std::ranges::replace(reason, '_', ' ');
  return say_count(loss.count, "{} record lost: {}", "{} records lost: {}",
                   format_count(loss.count), reason);
}

// "SIGKILL", "exit code 1"; "" = ended normally, or its end is unknown.
std::string end_words(const Model& model, int rank) {
  if (const analyzer::EndedRank* ended = end_of_rank(model, rank);
      ended != nullptr && analyzer::has_failed(*ended))
    return analyzer::words_of_end(*ended);
  const auto trace = std::ranges::find(model.run.traces, rank, &analyzer::TraceFile::rank);
  if (trace == model.run.traces.end()) return {};
  if (trace->ended == "recovered") return say("recording broke off");
  if (trace->ended != "process_killed") return {};
  if (trace->exit_status.empty()) return say("process killed");
  return say("process killed, {}", trace->exit_status);
}

// The end of its process, if observed; else of its trace.
TraceNs end_time(const Model& model, const RankModel& rank) {
  const TraceNs last = rank.lanes().span.end;
  const analyzer::EndedRank* ended = end_of_rank(model, rank.rank);
  return ended != nullptr && ended->time_ns ? std::max(last, TraceNs{*ended->time_ns}) : last;
}

void draw_chip(Point at, const std::string& text, const TextMeasure& measure, DrawList& list) {
  const Box chip{at.x, at.y, measure.width(text, Font::kSmall) + 2 * kChipPadding, kChipHeight};
  list.rect(chip, Role::kProblem, {}, 0, 3);
  list.text(
      chip, text,
      {.role = Role::kProblem, .font = Font::kSmall, .align = Align::kCentre, .on_fill = true});
}

void draw_end(const RowsArea& area, const Row& row, int y, int width, const TextMeasure& measure,
              DrawList& list) {
  const RankModel& rank = area.model.ranks[static_cast<size_t>(row.rank_index)];
  if (!rank.events->loaded) return;
  const int x = area.scale.pixel_of(end_time(area.model, rank));
  if (x < 0 || x >= width) return;
  const std::string words = end_words(area.model, rank.rank);
  if (words.empty()) return;
  list.rect({x, y, 2, row.height}, Role::kProblem);
  const int wide = measure.width(words, Font::kSmall) + 2 * kChipPadding;
  if (row.kind == RowKind::kRank)
    draw_chip({std::min(x + 4, width - wide), y + (row.height - kChipHeight) / 2}, words, measure,
              list);
}

}  // namespace

void draw_losses(const RowsArea& area, const Row& row, int y, DrawList& list) {
  for_losses(area, row, [&](const analyzer::LossSpan&, int x0, int x1) {
    const bool is_rank = row.kind == RowKind::kRank;
    const int top = is_rank ? kBarTop + kBarHeight : 1;
    const int bottom = is_rank ? row.height : row.height - 1;
    list.hatch({x0, y + top, x1 - x0, bottom - top}, Role::kProblem);
  });
}

void draw_row_marks(const RowsArea& area, const Row& row, int y, int width,
                    const TextMeasure& measure, DrawList& list) {
  if (row.kind != RowKind::kRank && row.kind != RowKind::kThread) return;
  for_losses(area, row, [&](const analyzer::LossSpan& loss, int x0, int x1) {
    const std::string words = words_of(loss);
    const int needed = measure.width(words, Font::kSmall) + 2 * kChipPadding;
    if (x0 >= 0 && std::min(x1, width) - x0 >= needed)
      draw_chip({x0, y + row.height - kChipHeight - 2}, words, measure, list);
  });
  draw_end(area, row, y, width, measure, list);
}

std::vector<std::string> losses_at(const RowsArea& area, const Hover& hover) {
  const RankModel& rank = area.model.ranks[static_cast<size_t>(hover.rank_index)];
  const TraceNs time = area.scale.time_of(hover.at.x);
  std::vector<std::string> words;
  for (const analyzer::LossSpan& loss : rank.lanes().losses) {
    if (time < loss.span.begin || time > loss.span.end) continue;
    const bool other_thread = hover.slice && loss.thread_id &&
                              *loss.thread_id != thread_of(area.model, *hover.slice).thread_id;
    if (!other_thread) words.push_back(words_of(loss));
  }
  return words;
}

}  // namespace dprof::view
