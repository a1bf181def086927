// SPDX-License-Identifier: Apache-2.0
#include "gui/view/pages/overview_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyzer/render/mean_step.h"
#include "base/format.h"
#include "gui/view/drawing/texts.h"

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
constexpr double kOverviewLeastShare = 0.0005;  // of the step, to be listed

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
      paint_ranks();
    } else {
      line(
          say("No training step was found, so time cannot be divided among categories; the diagnostics say why."),
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

  void paint_ranks() {
    heading(say("Rank by rank"));
    const analyzer::StepUnit unit = analyzer::unit_of(report_);
    double longest = 0;
    std::vector<std::pair<int, MeanStep>> steps;
    for (const analyzer::RankBreakdown& rank : report_.breakdown->per_rank) {
      const std::optional<MeanStep> step = analyzer::mean_step(report_, rank);
      if (!step) continue;
      longest = std::max(longest, step->wall_ns);
      steps.emplace_back(rank.rank, analyzer::with_hidden_in_phases(*step));
    }
    const int bar_width = room() - kOverviewLabelWidth - kOverviewFigureWidth;
    for (const auto& [number, step] : steps) {
      const RankModel* rank = model_.rank(number);
      const bool problem = rank != nullptr && rank->own_delay.has_value();
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
      if (bar_width > 0) {
        bar({kOverviewMargin + kOverviewLabelWidth, y_ + (kOverviewRankLine - kRankBar) / 2,
             bar_width, kRankBar},
            step, longest);
      }
      body_.text({whole.x + whole.w - kOverviewFigureWidth, y_, kOverviewFigureWidth - 8,
                  kOverviewRankLine},
                 problem ? say("own +{}", unit.text(static_cast<double>(rank->own_delay->ns)))
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
