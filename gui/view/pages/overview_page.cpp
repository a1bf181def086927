// SPDX-License-Identifier: Apache-2.0
#include "gui/view/pages/overview_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analyzer/render/mean_step.h"
#include "base/format.h"
#include "gui/view/drawing/columns.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/figures/notable_ranks.h"
#include "gui/view/figures/rank_spread.h"

namespace dprof::view {
namespace {

using analyzer::Category;
using analyzer::MeanStep;

constexpr int kOverviewMargin = 24;
constexpr int kLine = 22;
constexpr int kBar = 30;               // of the mean step
constexpr int kOverviewRankLine = 24;  // with its bar
constexpr int kRankBar = 15;
constexpr int kOverviewLabelWidth = 150;
constexpr int kOverviewFigureWidth = 110;
constexpr int kOverviewLegendWidth = 250;
constexpr int kReasonWidth = 120;
constexpr int kSpreadGap = 12;
constexpr int kLeastPlot = 60;
constexpr double kOverviewLeastShare = 0.0005;  // of the step, minimum to be listed

constexpr std::array<Column, 6> kSpreadColumns = {{
    {english("best"), 84, true},
    {english("p10"), 84, true},
    {english("median"), 84, true},
    {english("p90"), 84, true},
    {english("worst"), 84, true},
    {english("which is"), 100, true},
}};

class OverviewPainter {
 public:
  OverviewPainter(const Model& model, Selecting& selecting, int width, int height,
                  const TextMeasure& measure)
      : model_(model),
        selecting_(selecting),
        report_(model.report),
        width_(width),
        height_(height),
        measure_(measure) {}

  Panel paint() && {
    paint_head();
    const std::optional<MeanStep> mean = analyzer::mean_step(report_);
    if (mean) {
      paint_step(*mean);
      if (has_many_ranks(model_)) paint_spread();
      paint_ranks();
    } else {
      line(
          say("No training step was found, so time cannot be split by category; the diagnostics say why."),
          {.role = Role::kTextDim});
    }
    panel_.height = y_ + kOverviewMargin;
    panel_.list.rect({0, 0, width_, std::max(height_, panel_.height)}, Role::kCanvas);
    panel_.list.append(body_);
    return std::move(panel_);
  }

 private:
  [[nodiscard]] int room() const { return width_ - 2 * kOverviewMargin; }

  void line(const std::string& text, TextStyle style) {
    y_ = draw_wrapped(text, {kOverviewMargin, y_}, room(), kLine, style, measure_, body_);
  }

  void heading(const std::string& text) {
    y_ += 20;
    line(text, {.font = Font::kTitle});
    y_ += 6;
  }

  void paint_head() {
    const analyzer::RunInfo& run = report_.run;
    line(model_.run.name, {.font = Font::kTitle});
    std::string facts =
        say_count(run.hosts, "{} ranks on {} host", "{} ranks on {} hosts", run.ranks, run.hosts);
    if (run.steps) {
      facts += say(", {} steps of {} in the median ({} steady)", format_count(run.steps->count),
                   format_duration({run.steps->median_ns}), format_count(run.steps->steady));
    }
    line(facts, {.role = Role::kTextDim});
    const int64_t lost = model_.lost();
    line(say("{} events, {} lost", format_count(report_.recording.events), format_count(lost)),
         {.role = lost > 0 ? Role::kProblem : Role::kTextDim});
  }

  // A bar whose parts are the categories, `pixels` for `whole_ns`.
  void bar(Box box, const MeanStep& step, double whole_ns) {
    double begun = 0;
    for (size_t c = 0; c < analyzer::kCategories; ++c) {
      const double from = begun;
      begun += step.category_ns[c];
      const int left = box.x + static_cast<int>(std::lround(from / whole_ns * box.w));
      const int right = box.x + static_cast<int>(std::lround(begun / whole_ns * box.w));
      if (right <= left) continue;
      const auto category = static_cast<Category>(c);
      draw_category({left, box.y, right - left, box.h}, category, body_);
    }
  }

  void paint_step(const MeanStep& mean) {
    const MeanStep shown = analyzer::with_hidden_in_phases(mean);
    const analyzer::StepUnit unit = analyzer::unit_of(report_);
    heading(say("Where a step goes: {}, the mean over ranks and steady steps",
                unit.text(mean.wall_ns)));
    bar({kOverviewMargin, y_, room(), kBar}, shown, mean.wall_ns);
    y_ += kBar + 12;
    const int columns = std::max(1, room() / kOverviewLegendWidth);
    int column = 0;
    for (size_t c = 0; c < analyzer::kCategories; ++c) {
      const double share = shown.category_ns[c] / mean.wall_ns;
      if (share < kOverviewLeastShare) continue;
      const int x = kOverviewMargin + column * kOverviewLegendWidth;
      const auto category = static_cast<Category>(c);
      draw_category({x, y_ + 5, 12, 12}, category, body_);
      body_.text({x + 20, y_, 120, kLine}, std::string(analyzer::title_of(category)));
      body_.text({x + 130, y_, 60, kLine}, unit.text(shown.category_ns[c]),
                 {.font = Font::kMono, .align = Align::kRight});
      body_.text({x + 190, y_, 42, kLine}, format_share(share),
                 {.role = Role::kTextDim, .font = Font::kSmall, .align = Align::kRight});
      if (++column < columns) continue;
      column = 0;
      y_ += kLine;
    }
    if (column > 0) y_ += kLine;
  }

  // How the ranks differ: each part of the step from its best to its worst rank, as distances from
  // the median rank, all on one scale.
  void paint_spread() {
    const std::vector<RankSpread> spreads = rank_spreads(model_);
    if (spreads.empty()) return;
    const int64_t scale = scale_of(model_, spreads);
    heading(say(
        "How {} ranks differ, per steady step; pictures are distances from the median, up to ± {}",
        format_count(static_cast<int64_t>(model_.ranks.size())), unit_text(scale)));
    const int plot = room() - kOverviewLabelWidth - width_of(kSpreadColumns) - kSpreadGap;
    const int left = kOverviewMargin + kOverviewLabelWidth;
    const int columns = left + std::max(plot, 0) + kSpreadGap;
    draw_heads(kSpreadColumns, {columns, y_}, kLine, body_);
    y_ += kLine;
    body_.line({kOverviewMargin, y_ - 1}, {kOverviewMargin + room(), y_ - 1}, Role::kBorder);
    for (const RankSpread& spread : spreads) {
      body_.text({kOverviewMargin + 8, y_, kOverviewLabelWidth - 12, kLine}, spread.title);
      if (plot > kLeastPlot) paint_plot(spread, scale, {left, y_, plot, kLine});
      const std::array<std::string, kSpreadColumns.size()> cells = {
          unit_text(spread.best_ns), unit_text(spread.p10_ns),   unit_text(spread.median_ns),
          unit_text(spread.p90_ns),  unit_text(spread.worst_ns), say("rank {}", spread.worst_rank)};
      const bool guilty = std::ranges::any_of(
          spread.culprits, [&](const auto& one) { return one.first == spread.worst_rank; });
      draw_cells(kSpreadColumns, {columns, y_}, cells, measure_, body_,
                 guilty && is_far(spread, scale) ? Role::kProblem : Role::kText);
      panel_.links.push_back(
          {{kOverviewMargin, y_, room(), kLine},
           [&on = selecting_, rank = spread.worst_rank] { on.select_rank(rank); },
           /*shows=*/true});
      y_ += kLine;
    }
  }

  // A culprit's line is informative if it is far from the others: in its own work, not where it
  // waits slightly longer.
  [[nodiscard]] static bool is_far(const RankSpread& spread, int64_t scale) {
    constexpr int64_t kPart = 4;
    return spread.worst_ns - spread.median_ns > scale / kPart;
  }

  [[nodiscard]] std::string unit_text(int64_t ns) const {
    return analyzer::unit_of(report_).text(static_cast<double>(ns));
  }

  // A line from best to worst, a box from p10 to p90, a mark at the median; culprits are dots.
  void paint_plot(const RankSpread& spread, int64_t scale, Box area) {
    constexpr int kBox = 8;
    constexpr int kDot = 8;
    const int centre = area.x + area.w / 2;
    const int middle = area.y + area.h / 2;
    const auto x = [&](int64_t ns) {
      const double share = static_cast<double>(ns - spread.median_ns) /
                           static_cast<double>(std::max<int64_t>(scale, 1));
      const int half = area.w / 2 - kDot;
      return centre + static_cast<int>(std::lround(share * half));
    };
    body_.line({area.x, middle}, {area.x + area.w, middle}, Role::kLaneBackground);
    body_.rect(
        {x(spread.best_ns), middle - 1, std::max(x(spread.worst_ns) - x(spread.best_ns), 1), 2},
        Role::kUtilisation);
    body_.rect({x(spread.p10_ns), middle - kBox / 2,
                std::max(x(spread.p90_ns) - x(spread.p10_ns), 2), kBox},
               Role::kUtilisation, {}, 0, 2);
    body_.rect({centre - 1, middle - kBox / 2 - 2, 2, kBox + 4}, Role::kText);
    for (const auto& [rank, ns] : spread.culprits)
      body_.rect({x(ns) - kDot / 2, middle - kDot / 2, kDot, kDot}, Role::kProblem, {.rank = rank},
                 0, kDot / 2);
  }

  // Of many ranks the notable ones, and the selected ones.
  [[nodiscard]] std::vector<std::pair<int, std::string>> listed_ranks() const {
    std::vector<std::pair<int, std::string>> listed;
    if (!has_many_ranks(model_)) {
      for (const RankModel& rank : model_.ranks) listed.emplace_back(rank.rank, "");
      return listed;
    }
    for (const NotableRank& one : notable_ranks(model_))
      listed.emplace_back(one.rank, title_of(one.reason));
    for (const int rank : selecting_.selection().ranks) {
      const auto is_it = [&](const auto& one) { return one.first == rank; };
      if (listed.size() >= kMostShownRanks) break;
      if (std::ranges::none_of(listed, is_it)) listed.emplace_back(rank, say("selected"));
    }
    return listed;
  }

  void paint_ranks() {
    const bool many = has_many_ranks(model_);
    heading(many ? say("Ranks worth a look") : say("Rank by rank"));
    const analyzer::StepUnit unit = analyzer::unit_of(report_);
    double longest = 0;
    std::vector<std::pair<int, MeanStep>> steps;
    std::vector<std::string> reasons;
    for (const auto& [number, reason] : listed_ranks()) {
      const auto rank =
          std::ranges::find(report_.breakdown->per_rank, number, &analyzer::RankBreakdown::rank);
      if (rank == report_.breakdown->per_rank.end()) continue;
      const std::optional<MeanStep> step = analyzer::mean_step(report_, *rank);
      if (!step) continue;
      longest = std::max(longest, step->wall_ns);
      steps.emplace_back(number, analyzer::with_hidden_in_phases(*step));
      reasons.push_back(reason);
    }
    const int label_width = kOverviewLabelWidth + (many ? kReasonWidth : 0);
    const int bar_width = room() - label_width - kOverviewFigureWidth;
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto& [number, step] = steps[i];
      const RankModel* rank = model_.rank(number);
      const bool named = rank != nullptr && rank->own_delay && rank->own_delay->ns > 0;
      const bool problem = named || reasons[i] == title_of(RankReason::kCulprit);
      const bool chosen = selecting_.selection().has_rank(number);
      const Box whole{kOverviewMargin, y_, room(), kOverviewRankLine};
      if (chosen) body_.rect(whole, Role::kAccentSoft, {}, 0, 4);
      const std::string host =
          rank != nullptr && report_.run.hosts > 1 ? "  " + rank->host : std::string();
      body_.text(
          {whole.x + 8, y_, kOverviewLabelWidth - 12, kOverviewRankLine},
          elided(say("rank {}{}", number, host), kOverviewLabelWidth - 12, Font::kBody, measure_),
          {.role = problem ? Role::kProblem : Role::kText,
           .font = problem ? Font::kBold : Font::kBody});
      if (many)
        body_.text({whole.x + kOverviewLabelWidth, y_, kReasonWidth - 12, kOverviewRankLine},
                   elided(reasons[i], kReasonWidth - 12, Font::kSmall, measure_),
                   {.role = problem ? Role::kProblem : Role::kTextDim, .font = Font::kSmall});
      if (bar_width > 0) {
        bar({kOverviewMargin + label_width, y_ + (kOverviewRankLine - kRankBar) / 2, bar_width,
             kRankBar},
            step, longest);
      }
      body_.text({whole.x + whole.w - kOverviewFigureWidth, y_, kOverviewFigureWidth - 8,
                  kOverviewRankLine},
                 named ? say("own +{}", unit.text(static_cast<double>(rank->own_delay->ns)))
                       : unit.text(step.wall_ns),
                 {.role = problem ? Role::kProblem : Role::kText,
                  .font = problem ? Font::kMonoBold : Font::kMono,
                  .align = Align::kRight});
      panel_.links.push_back(
          {whole, [&on = selecting_, number = number] { on.select_rank(number); }, /*shows=*/true});
      y_ += kOverviewRankLine;
    }
  }

  const Model& model_;
  Selecting& selecting_;
  const analyzer::Report& report_;
  int width_;
  int height_;
  const TextMeasure& measure_;
  int y_ = kOverviewMargin;
  DrawList body_;
  Panel panel_;
};

}  // namespace

Panel draw_overview_page(const Model& model, Selecting& selecting, int width, int height,
                         const TextMeasure& measure) {
  return OverviewPainter(model, selecting, width, height, measure).paint();
}

}  // namespace dprof::view
