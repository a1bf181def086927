// SPDX-License-Identifier: Apache-2.0
#include "gui/view/docks/selection_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/stats.h"
#include "gui/view/docks/range_title.h"
#include "gui/view/drawing/columns.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/figures/notable_ranks.h"
#include "gui/view/session/dock.h"

namespace dprof::view {
namespace {

using analyzer::Category;

constexpr int kSelectionTitleHeight = 26;
constexpr int kNameWidth = 190;
constexpr int kCellWidth = 98;
constexpr int kReasonLine = 16;        // below the ranks' names
constexpr int kNarrowNameWidth = 130;  // if many ranks share little room
constexpr int kNarrowCellWidth = 68;
constexpr int64_t kLeastShown = 50 * kNsPerUs;  // less is displayed as 0.0 ms

// The window that applies to one rank; nullopt if it lacks the selected step.
std::optional<Interval> window_of(const Selecting& selecting, const RankModel& rank) {
  const Selection& selection = selecting.selection();
  if (selection.range || !selection.step) return selecting.range();
  for (const analyzer::StepWindow& step : rank.steps) {
    if (step.index == *selection.step) return step.window;
  }
  return std::nullopt;
}

struct RankTimes {
  analyzer::CategoryNs category_ns{};
  // Time that overlaps communication counts as its phase: the same work can be exposed on one rank
  // and overlap a transfer on another.
  analyzer::CategoryNs work_ns{};
};

// O(log pieces + pieces in the window).
RankTimes times_in(const RankModel& rank, Interval window) {
  RankTimes sums;
  auto piece = std::partition_point(
      rank.pieces.begin(), rank.pieces.end(),
      [&](const analyzer::Piece& candidate) { return candidate.span.end <= window.begin; });
  for (; piece != rank.pieces.end() && piece->span.begin < window.end; ++piece) {
    const TraceNs begin = std::max(piece->span.begin, window.begin);
    const TraceNs end = std::min(piece->span.end, window.end);
    sums.category_ns[static_cast<size_t>(piece->category)] += (end - begin).ns;
    sums.work_ns[static_cast<size_t>(piece->phase)] += (end - begin).ns;
  }
  return sums;
}

int64_t mean_of(const std::vector<int64_t>& values) {
  int64_t sum = 0;
  for (const int64_t value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<int64_t>(values.size());
}

// For the selected finding's rank, the cell with the largest excess over the other ranks' median:
// what makes it the culprit. Waiting is never a cause.
void mark_standing_out(const Selection& selection, const std::vector<RankTimes>& columns,
                       SelectionTable& table) {
  if (!selection.finding || selection.ranks.size() != 1 || table.ranks.size() < 2) return;
  const auto found = std::find(table.ranks.begin(), table.ranks.end(), selection.ranks.front());
  if (found == table.ranks.end()) return;
  const auto column = static_cast<size_t>(found - table.ranks.begin());
  SelectionTable::Line* most = nullptr;
  int64_t largest = table.mean_wall_ns / 50;  // 2 % of the step deserves a mark
  for (SelectionTable::Line& line : table.lines) {
    if (line.category == Category::kExposedWait || line.category == Category::kOverlapped) continue;
    const auto category = static_cast<size_t>(line.category);
    std::vector<int64_t> others;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i != column) others.push_back(columns[i].work_ns[category]);
    }
    const int64_t excess = columns[column].work_ns[category] - median_ns(others);
    if (excess <= largest) continue;
    largest = excess;
    most = &line;
  }
  if (most != nullptr) most->standing_out = column;
}

// All of a few ranks; of many, the notable ones, then the selected ones.
void choose_columns(const Model& model, const Selection& selection, SelectionTable& table) {
  if (table.ranks.size() <= kMostShownRanks) {
    for (size_t i = 0; i < table.ranks.size(); ++i) table.shown.push_back(i);
    return;
  }
  const auto add = [&](int rank, const std::string& reason) {
    const auto place = std::ranges::lower_bound(table.ranks, rank);
    if (place == table.ranks.end() || *place != rank) return;
    const auto column = static_cast<size_t>(place - table.ranks.begin());
    if (table.shown.size() >= kMostShownRanks || std::ranges::count(table.shown, column) > 0)
      return;
    table.shown.push_back(column);
    table.reasons.push_back(reason);
  };
  for (const NotableRank& one : notable_ranks(model))
    add(one.rank, std::string(title_of(one.reason)));
  for (const int rank : selection.ranks) add(rank, say("selected"));
}

class TablePainter {
 public:
  TablePainter(const SelectionTable& table, const Selection& selection, int width,
               const TextMeasure& measure)
      : table_(table), selection_(selection), measure_(measure) {
    const auto columns = static_cast<int>(table.shown.size()) + 1;
    if (2 * kDockMargin + kNameWidth + columns * kCellWidth > width) {
      name_width_ = kNarrowNameWidth;
      cell_width_ = std::clamp((width - 2 * kDockMargin - name_width_) / columns, kNarrowCellWidth,
                               kCellWidth);
    }
    content_width_ = std::max(width, 2 * kDockMargin + name_width_ + columns * cell_width_);
  }

  Panel paint(int height) && {
    Panel panel;
    DrawList& list = panel.list;
    const auto lines = static_cast<int>(table_.lines.size());
    panel.height = head_height() + kLineHeight * (lines + 1) + 8;
    panel.width = content_width_;
    list.rect({0, 0, content_width_, std::max(height, panel.height)}, Role::kWindow);
    list.text({kDockMargin, 0, content_width_ - 2 * kDockMargin, kSelectionTitleHeight},
              table_.title, {.role = Role::kTextDim});
    if (!table_.why_empty.empty()) {
      list.text({kDockMargin, kSelectionTitleHeight, content_width_ - 2 * kDockMargin, kLineHeight},
                elided(table_.why_empty, content_width_ - 2 * kDockMargin, Font::kBody, measure_));
      return panel;
    }
    paint_head(list);
    int y = head_height();
    for (const SelectionTable::Line& line : table_.lines) {
      paint_line(line, y, list);
      y += kLineHeight;
    }
    paint_wall(y, list);
    return panel;
  }

 private:
  [[nodiscard]] Box cell(size_t column, int y) const {
    return {kDockMargin + name_width_ + static_cast<int>(column) * cell_width_, y, cell_width_ - 8,
            kLineHeight};
  }

  [[nodiscard]] int head_height() const {
    return kSelectionTitleHeight + kLineHeight + (table_.reasons.empty() ? 0 : kReasonLine);
  }
  [[nodiscard]] bool is_culprit(size_t column) const {
    return !table_.reasons.empty() && table_.reasons[column] == title_of(RankReason::kCulprit);
  }

  void rule(int y, DrawList& list) const {
    list.line({kDockMargin, y}, {content_width_ - kDockMargin, y}, Role::kBorder);
  }

  void paint_head(DrawList& list) const {
    for (size_t i = 0; i < table_.shown.size(); ++i) {
      const int rank = table_.ranks[table_.shown[i]];
      const bool problem = (selection_.finding && selection_.has_rank(rank)) || is_culprit(i);
      list.text(cell(i, kSelectionTitleHeight), say("rank {}", rank),
                {.role = problem ? Role::kProblem : Role::kTextDim,
                 .font = problem ? Font::kBold : Font::kBody,
                 .align = Align::kRight});
      if (!table_.reasons.empty())
        list.text(cell(i, kSelectionTitleHeight + kReasonLine),
                  elided(table_.reasons[i], cell_width_ - 8, Font::kSmall, measure_),
                  {.role = problem ? Role::kProblem : Role::kTextFaint,
                   .font = Font::kSmall,
                   .align = Align::kRight});
    }
    const Box mean = cell(table_.shown.size(), kSelectionTitleHeight);
    list.text(mean, say("mean"), {.role = Role::kTextDim, .align = Align::kRight});
    if (!table_.reasons.empty())
      list.text({mean.x, mean.y + kReasonLine, mean.w, mean.h},
                elided(say("of all {}", table_.ranks.size()), mean.w, Font::kSmall, measure_),
                {.role = Role::kTextFaint, .font = Font::kSmall, .align = Align::kRight});
  }

  void paint_line(const SelectionTable::Line& line, int y, DrawList& list) const {
    rule(y, list);
    const Box swatch{kDockMargin, y + 5, 12, 12};
    draw_category(swatch, line.category, list);
    if (line.category == Category::kOverlapped) {
      list.rect({swatch.x, swatch.y + 8, swatch.w, 4}, role_of(Category::kExposedTransfer));
    }
    list.text({kDockMargin + 22, y, name_width_ - 22, kLineHeight},
              std::string(analyzer::title_of(line.category)));
    for (size_t i = 0; i < table_.shown.size(); ++i) {
      const bool marked = line.standing_out == table_.shown[i];
      const Box box = cell(i, y);
      if (marked) list.rect({box.x + box.w - 68, y + 2, 74, kLineHeight - 4}, Role::kProblemSoft);
      list.text(box, format_ms({line.ns[table_.shown[i]]}),
                {.role = marked ? Role::kProblem : Role::kText,
                 .font = marked ? Font::kMonoBold : Font::kMono,
                 .align = Align::kRight});
    }
    list.text(cell(table_.shown.size(), y), format_ms({line.mean_ns}),
              {.font = Font::kMonoBold, .align = Align::kRight});
  }

  void paint_wall(int y, DrawList& list) const {
    rule(y, list);
    list.text({kDockMargin + 22, y, name_width_ - 22, kLineHeight}, say("wall"),
              {.font = Font::kBold});
    for (size_t i = 0; i < table_.shown.size(); ++i) {
      list.text(cell(i, y), format_ms({table_.wall_ns[table_.shown[i]]}),
                {.font = Font::kMonoBold, .align = Align::kRight});
    }
    list.text(cell(table_.shown.size(), y), format_ms({table_.mean_wall_ns}),
              {.font = Font::kMonoBold, .align = Align::kRight});
  }

  const SelectionTable& table_;
  const Selection& selection_;
  const TextMeasure& measure_;
  int name_width_ = kNameWidth;
  int cell_width_ = kCellWidth;
  int content_width_ = 0;
};

}  // namespace

SelectionTable selection_table(const Model& model, const Selecting& selecting) {
  SelectionTable table;
  std::vector<RankTimes> columns;
  for (const RankModel& rank : model.ranks) {
    const std::optional<Interval> window = window_of(selecting, rank);
    if (!window || rank.pieces.empty()) continue;
    table.ranks.push_back(rank.rank);
    columns.push_back(times_in(rank, *window));
  }
  table.title = range_title(model, selecting, table.ranks.size());
  if (table.ranks.empty()) {
    table.why_empty =
        model.steps.empty()
            ? say("No training step was found, so time cannot be split by category; the diagnostics say why.")
            : say("No rank has this step.");
    return table;
  }
  table.wall_ns.assign(table.ranks.size(), 0);
  for (size_t c = 0; c < analyzer::kCategories; ++c) {
    SelectionTable::Line line{.category = static_cast<Category>(c)};
    bool any = false;
    for (size_t i = 0; i < columns.size(); ++i) {
      const int64_t ns = columns[i].category_ns[c];
      line.ns.push_back(ns);
      table.wall_ns[i] += ns;
      any = any || ns >= kLeastShown;
    }
    if (!any) continue;
    line.mean_ns = mean_of(line.ns);
    table.lines.push_back(std::move(line));
  }
  table.mean_wall_ns = mean_of(table.wall_ns);
  choose_columns(model, selecting.selection(), table);
  mark_standing_out(selecting.selection(), columns, table);
  return table;
}

Panel draw_selection_table(const Model& model, const Selecting& selecting, int width, int height,
                           const TextMeasure& measure) {
  const SelectionTable table = selection_table(model, selecting);
  return TablePainter(table, selecting.selection(), width, measure).paint(height);
}

}  // namespace dprof::view
