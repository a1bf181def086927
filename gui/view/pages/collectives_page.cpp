// SPDX-License-Identifier: Apache-2.0
#include "gui/view/pages/collectives_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <unordered_set>

#include "analyzer/breakdown/bandwidth.h"
#include "base/format.h"
#include "gui/view/drawing/choice.h"
#include "gui/view/drawing/columns.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/drawing/time_scale.h"
#include "gui/view/figures/collective_times.h"
#include "gui/view/figures/notable_ranks.h"

namespace dprof::view {
namespace {

constexpr int kCollectivesMargin = 16;
constexpr int kCollectivesChoicesHeight = 46;
constexpr int kCollectivesHeadHeight = 24;
constexpr int kTop =
    kCollectivesChoicesHeight + kCollectivesHeadHeight;  // above the lines, always visible

constexpr std::array<Column, 10> kCollectivesColumns = {{
    {english("collective"), 230, false},
    {english("communicator"), 130, false},
    {english("begins"), 110, true},
    {english("step"), 70, true},
    {english("ranks"), 60, true},
    {english("bytes"), 100, true},
    {english("arrivals over"), 110, true},
    {english("last to come"), 100, true},
    {english("longest wait"), 110, true},
    {english("transfer"), 180, true},
}};

// For a group. Times are medians over its collectives.
constexpr std::array<Column, 11> kGroupColumns = {{
    {english("collective"), 120, false},
    {english("communicator"), 120, false},
    {english("bytes"), 90, true},
    {english("number"), 160, true},
    {english("ranks"), 60, true},
    {english("in all"), 90, true},
    {english("arrivals over"), 110, true},
    {english("most often last"), 180, true},
    {english("waited for most"), 160, true},
    {english("longest wait"), 110, true},
    {english("transfer"), 170, true},
}};

constexpr size_t kMostOftenLast = 7;
constexpr size_t kWaitedForMost = 8;

std::string bytes_text(std::optional<int64_t> bytes) {
  return bytes ? format_bytes(*bytes) : std::string("–");
}

std::optional<int64_t> step_of(const Model& model, TraceNs at) {
  const std::optional<size_t> step = holder_of(model.steps, at, &analyzer::StepWindow::window);
  return step ? std::optional(model.steps[*step].index) : std::nullopt;
}

// Bus bandwidth as in nccl-tests; "" = not known.
std::string bandwidth_text(const CollectiveKind& kind, size_t ranks, int64_t transfer_ns) {
  if (!kind.bytes) return {};
  const auto bandwidth = analyzer::bandwidth_of(
      kind.function, analyzer::size_of(kind.function, *kind.bytes, ranks), ranks, transfer_ns);
  return bandwidth ? fmt::format(" · {}/s", format_bytes(std::llround(bandwidth->busbw)))
                   : std::string();
}

class CollectivesPainter {
 public:
  CollectivesPainter(const Model& model, CollectiveFigures& figures, Selecting& selecting,
                     int width, int height, int top, const TextMeasure& measure)
      : model_(model),
        figures_(figures),
        selecting_(selecting),
        lines_(figures.lines()),
        width_(width),
        height_(height),
        top_(top),
        measure_(measure) {
    for (const Culprit& culprit : culprits_of(model)) culprits_.insert(culprit.rank);
  }

  Panel paint() && {
    panel_.width = std::max(width_, 2 * kCollectivesMargin + width_of(columns()));
    panel_.height = kTop + static_cast<int>(line_count()) * kLineHeight + kCollectivesMargin;
    panel_.list.rect({0, top_, panel_.width, height_}, Role::kCanvas);
    paint_lines();
    paint_head();
    return std::move(panel_);
  }

 private:
  [[nodiscard]] DrawList& list() { return panel_.list; }
  [[nodiscard]] bool grouped() const { return figures_.are_grouped(); }
  [[nodiscard]] std::span<const Column> columns() const {
    if (grouped()) return kGroupColumns;
    return kCollectivesColumns;
  }
  [[nodiscard]] size_t line_count() const {
    return grouped() ? figures_.groups().size() : lines_.size();
  }

  void paint_lines() {
    if (line_count() == 0) {
      list().text(
          {kCollectivesMargin, top_ + kTop + 10, width_ - 2 * kCollectivesMargin, kLineHeight},
          say("No collective was recorded; the diagnostics say which source was off."),
          {.role = Role::kTextDim});
      return;
    }
    const LineRange shown = lines_in_view(line_count(), top_, height_);
    for (size_t line = shown.first; line < shown.end; ++line) {
      const int y = kTop + static_cast<int>(line) * kLineHeight;
      if (grouped()) {
        paint_group(figures_.groups()[line], y);
      } else {
        paint_line(lines_[line], y);
      }
    }
  }

  void paint_group(const CollectiveGroup& group, int y) {
    const Box line{0, y, panel_.width, kLineHeight};
    panel_.links.push_back(
        {below(line, top_ + kTop), [&on = figures_, kind = group.kind] { on.show_kind(kind); }});
    const int64_t complete = group.count - group.incomplete;
    std::string number = format_count(group.count);
    if (group.incomplete > 0) number += say(", {} never completed", group.incomplete);
    const std::string nothing = "–";
    const std::string cells[kGroupColumns.size()] = {
        std::string(schema::word_of(group.kind.function)),
        group.kind.communicator,
        bytes_text(group.kind.bytes),
        number,
        std::to_string(group.most_members),
        complete > 0 ? format_duration({group.total_ns}) : nothing,
        group.median_spread_ns ? format_duration({*group.median_spread_ns}) : nothing,
        group.last_arriver ? say("rank {}, {} of {}", *group.last_arriver,
                                 format_count(group.times_last), format_count(complete))
                           : nothing,
        group.waited_for
            ? say("rank {}, {}", *group.waited_for, format_duration({group.waited_for_ns}))
            : nothing,
        complete > 0 ? format_duration({group.median_wait_ns}) : nothing,
        complete > 0 ? format_duration({group.median_transfer_ns}) +
                           bandwidth_text(group.kind, group.most_members, group.median_transfer_ns)
                     : nothing,
    };
    Point at{kCollectivesMargin, y};
    for (size_t c = 0; c < kGroupColumns.size(); ++c) {
      const bool guilty = group.incomplete > 0 ||
                          (c == kMostOftenLast && is_culprit(group.last_arriver)) ||
                          (c == kWaitedForMost && is_culprit(group.waited_for));
      draw_cell(kGroupColumns[c], at, cells[c], measure_, list(),
                guilty ? Role::kProblem : Role::kText);
      at.x += kGroupColumns[c].width;
    }
  }

  [[nodiscard]] bool is_culprit(std::optional<int> rank) const {
    return rank && culprits_.contains(*rank);
  }

  void paint_line(uint32_t index, int y) {
    const analyzer::MatchedCollective& one = model_.collectives[index];
    const Interval extent = extent_of(one);
    const Box line{0, y, panel_.width, kLineHeight};
    if (selecting_.selection().collective == index) list().rect(line, Role::kAccentSoft);
    panel_.links.push_back({below(line, top_ + kTop),
                            [&on = selecting_, index] { on.select_collective(index); },
                            /*shows=*/true});
    const std::optional<DurationNs> spread = arrival_spread(one);
    const std::optional<int64_t> step = step_of(model_, extent.begin);
    const std::string cells[kCollectivesColumns.size()] = {
        fmt::format("{} #{}", schema::word_of(one.function), one.sequence),
        one.communicator,
        format_moment(extent.begin, kNsPerUs),
        step ? std::to_string(*step) : std::string("–"),
        std::to_string(one.members.size()),
        bytes_text(one.bytes),
        spread ? format_duration(*spread) : std::string("–"),
        one.last_arriver ? say("rank {}", *one.last_arriver) : std::string("–"),
        format_duration({longest_wait(one)}),
        one.complete ? format_duration({one.transfer_ns}) +
                           bandwidth_text(kind_of(model_, one), one.members.size(), one.transfer_ns)
                     : say("never completed"),
    };
    draw_cells(kCollectivesColumns, {kCollectivesMargin, y}, cells, measure_, list(),
               one.complete ? Role::kText : Role::kProblem);
  }

  // Above the lines, regardless of scrolling.
  void paint_head() {
    list().rect({0, top_, panel_.width, kTop}, Role::kCanvas);
    int x = kCollectivesMargin;
    for (size_t o = 0; o < kCollectiveOrders.size(); ++o) {
      const auto order = static_cast<CollectiveOrder>(o);
      const bool chosen = !grouped() && figures_.order() == order;
      const Box box =
          draw_choice({x, top_ + 10}, translated(kCollectiveOrders[o]), chosen, measure_, list());
      panel_.links.push_back({box, [&on = figures_, order] { on.show_order(order); }});
      x += box.w + kChoiceGap;
    }
    const Box all = draw_choice({x, top_ + 10}, say("by kind"), grouped(), measure_, list());
    panel_.links.push_back({all, [&on = figures_] { on.group(); }});
    x += all.w + kChoiceGap;
    if (const std::optional<CollectiveKind>& kind = figures_.kind()) {
      const Box box = draw_choice({x, top_ + 10}, "× " + words_of(*kind), true, measure_, list());
      panel_.links.push_back({box, [&on = figures_] { on.show_kind(std::nullopt); }});
      x += box.w + kChoiceGap;
    }
    list().text({x + 20, top_ + 10, 500, 26}, collectives_count_text(),
                {.role = Role::kTextDim, .font = Font::kSmall});
    draw_heads(columns(), {kCollectivesMargin, top_ + kCollectivesChoicesHeight},
               kCollectivesHeadHeight, list());
    list().line({kCollectivesMargin, top_ + kTop - 1},
                {panel_.width - kCollectivesMargin, top_ + kTop - 1}, Role::kBorder);
  }

  [[nodiscard]] static std::string words_of(const CollectiveKind& kind) {
    std::string words = fmt::format("{}, {}", schema::word_of(kind.function), kind.communicator);
    if (kind.bytes) words += ", " + format_bytes(*kind.bytes);
    return words;
  }

  [[nodiscard]] std::string collectives_count_text() const {
    if (grouped())
      return say(
          "{} kinds, most expensive first; times are medians, the total is the sum of longest waits and transfers",
          format_count(static_cast<int64_t>(line_count())));
    return say("{} collectives", format_count(static_cast<int64_t>(lines_.size())));
  }

  const Model& model_;
  CollectiveFigures& figures_;
  Selecting& selecting_;
  const std::vector<uint32_t>& lines_;
  int width_;
  int height_;
  int top_;
  const TextMeasure& measure_;
  std::unordered_set<int> culprits_;
  Panel panel_;
};

}  // namespace

Panel draw_collectives(const Model& model, CollectiveFigures& figures, Selecting& selecting,
                       int width, int height, int top, const TextMeasure& measure) {
  return CollectivesPainter(model, figures, selecting, width, height, top, measure).paint();
}

}  // namespace dprof::view
