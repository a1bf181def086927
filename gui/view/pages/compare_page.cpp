// SPDX-License-Identifier: Apache-2.0
#include "gui/view/pages/compare_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.h"
#include "gui/view/drawing/columns.h"
#include "gui/view/drawing/texts.h"

namespace dprof::view {
namespace {

using analyzer::ComparedName;
using analyzer::NameCost;

constexpr int kCompareMargin = 24;
constexpr int kCompareHeadHeight = 24;
constexpr int kCompareGap = 40;  // between the categories and what stands beside them
constexpr int kLengthsHeight = 190;
constexpr int kLeastLengths = 220;             // pixels of width
constexpr double kCompareLeastShare = 0.0005;  // of a step, for a category to be listed

constexpr std::array<Column, 5> kCategoryColumns = {{
    {english("of a mean step"), 250, false},
    {english("this run"), 120, true},
    {english("the other"), 120, true},
    {english("difference"), 150, true},
    {english("change"), 90, true},
}};
constexpr std::array<Column, 8> kNameColumns = {{
    {english("events of a name, per rank and step"), 420, false},
    {english("on"), 70, false},
    {english("this run"), 110, true},
    {english("the other"), 110, true},
    {english("difference"), 150, true},
    {english("change"), 90, true},
    {english("calls"), 90, true},
    {english("calls there"), 100, true},
}};

DurationNs rounded(double ns) { return {std::llround(ns)}; }

// "▲ 3.1 ms" for more in the other run, "▼" for less: readable without colours.
std::string difference_text(double ns) {
  const int64_t whole = std::llround(ns);
  if (whole == 0) return "=";
  return fmt::format("{} {}", whole > 0 ? "▲" : "▼", format_duration({std::abs(whole)}));
}

Role role_of_difference(double ns, double whole_ns) {
  constexpr double kSmall = 0.001;  // of a step: not worth a colour
  if (std::abs(ns) < kSmall * whole_ns) return Role::kText;
  return ns > 0 ? Role::kProblem : Role::kAccent;
}

std::string change_text(double a, double b) {
  if (a <= 0) return b > 0 ? say("new") : "–";
  if (b <= 0) return say("gone");
  return fmt::format("{:+.1f} %", (b / a - 1) * 100);
}

std::string self_text(const std::optional<NameCost>& cost) {
  return cost ? format_duration(rounded(cost->self_ns)) : std::string("–");
}
std::string compare_count_text(const std::optional<NameCost>& cost) {
  return cost ? fmt::format("{:.4g}", cost->count) : std::string("–");
}

class ComparePainter {
 public:
  ComparePainter(const Model& model, const ComparedRuns* runs, Selecting& selecting, int width,
                 int height, int top, const TextMeasure& measure)
      : model_(model),
        runs_(runs),
        selecting_(selecting),
        width_(width),
        height_(height),
        top_(top),
        measure_(measure) {}

  Panel paint() && {
    if (runs_ == nullptr) {
      sentence(say("No other run is open to compare with: dprof-gui RUN --compare OTHER"),
               Role::kTextDim);
    } else {
      sentence(say("{} beside {}", model_.run.name, runs_->other_name), Role::kText);
      sentence(say("Differences are the other run minus this one: ▲ slower there, ▼ faster."),
               Role::kTextDim);
      const int top = y_;
      paint_categories(runs_->comparison);
      paint_lengths(runs_->comparison, top);
      paint_names(runs_->comparison);
    }
    panel_.width = std::max(width_, 2 * kCompareMargin + width_of(kNameColumns));
    panel_.height = y_ + kCompareMargin;
    DrawList all;
    all.rect({0, top_, panel_.width, height_}, Role::kCanvas);
    all.append(panel_.list);
    panel_.list = std::move(all);
    return std::move(panel_);
  }

 private:
  [[nodiscard]] bool in_view(int y) const { return y + kLineHeight > top_ && y < top_ + height_; }

  void sentence(std::string text, Role role) {
    panel_.list.text({kCompareMargin, y_, width_ - 2 * kCompareMargin, kLineHeight},
                     std::move(text), {.role = role});
    y_ += kLineHeight;
  }

  void heads(std::span<const Column> columns) {
    y_ += 18;
    draw_heads(columns, {kCompareMargin, y_}, kCompareHeadHeight, panel_.list);
    y_ += kCompareHeadHeight;
    panel_.list.line({kCompareMargin, y_ - 1}, {kCompareMargin + width_of(columns), y_ - 1},
                     Role::kBorder);
  }

  void paint_categories(const analyzer::RunComparison& comparison) {
    if (!comparison.a || !comparison.b) {
      y_ += 12;
      sentence(
          say("Steps were not found in both runs, so their time cannot be compared by category."),
          Role::kTextDim);
      return;
    }
    heads(kCategoryColumns);
    const double whole_ns = comparison.a->wall_ns;
    paint_category(say("the whole step"), whole_ns, comparison.b->wall_ns, whole_ns);
    // Work is the same work, whether communication runs beside it or not.
    const analyzer::MeanStep step_a = analyzer::with_hidden_in_phases(*comparison.a);
    const analyzer::MeanStep step_b = analyzer::with_hidden_in_phases(*comparison.b);
    for (size_t c = 0; c < analyzer::kCategories; ++c) {
      const double a = step_a.category_ns[c];
      const double b = step_b.category_ns[c];
      if (std::max(a, b) < kCompareLeastShare * whole_ns) continue;
      paint_category(std::string(analyzer::title_of(static_cast<analyzer::Category>(c))), a, b,
                     whole_ns);
    }
  }

  void paint_category(std::string title, double a, double b, double whole_ns) {
    const std::array<std::string, kCategoryColumns.size()> cells = {
        std::move(title), format_duration(rounded(a)), format_duration(rounded(b)),
        difference_text(b - a), change_text(a, b)};
    draw_cells(kCategoryColumns, {kCompareMargin, y_}, cells, measure_, panel_.list,
               role_of_difference(b - a, whole_ns));
    y_ += kLineHeight;
  }

  void paint_names(const analyzer::RunComparison& comparison) {
    if (!comparison.why_no_names.empty()) {
      y_ += 12;
      sentence(say("Names cannot be compared: {}.", comparison.why_no_names), Role::kTextDim);
      return;
    }
    heads(kNameColumns);
    const double whole_ns = comparison.a ? comparison.a->wall_ns : 0;
    for (const ComparedName& name : comparison.names) {
      if (in_view(y_)) paint_name(name, whole_ns);
      y_ += kLineHeight;
    }
  }

  // Beside the categories, of the chosen name: how long its events take in each run, one over the
  // other on one scale, per rank and step.
  void paint_lengths(const analyzer::RunComparison& comparison, int top) {
    const auto name =
        std::ranges::find(comparison.names, selecting_.selection().name, &ComparedName::name);
    const Box area{kCompareMargin + width_of(kCategoryColumns) + kCompareGap, top + 18,
                   width_ - 2 * kCompareMargin - width_of(kCategoryColumns) - kCompareGap,
                   kLengthsHeight};
    if (name == comparison.names.end() || area.w < kLeastLengths) return;
    y_ = std::max(y_, area.y + area.h + kLineHeight);
    const std::vector<double> none;
    const std::vector<double>& a = name->a ? name->a->by_length : none;
    const std::vector<double>& b = name->b ? name->b->by_length : none;
    const size_t end = std::max(a.size(), b.size());
    const auto at = [](const std::vector<double>& counts, size_t i) {
      return i < counts.size() ? counts[i] : 0;
    };
    size_t first = 0;
    while (first < end && at(a, first) <= 0 && at(b, first) <= 0) ++first;
    if (first == end) return;
    double most = 0;
    for (size_t i = first; i < end; ++i) most = std::max({most, at(a, i), at(b, i)});
    panel_.list.text({area.x, area.y, area.w, kCompareHeadHeight},
                     elided(say("durations of {}", name->name), area.w, Font::kBold, measure_),
                     {.font = Font::kBold});
    const Box bars{area.x, area.y + kCompareHeadHeight, area.w,
                   area.h - kCompareHeadHeight - kLineHeight};
    const auto columns = static_cast<int>(end - first);
    std::vector<Point> outline{{bars.x, bars.y + bars.h}};
    for (int i = 0; i < columns; ++i) {
      const int left = bars.x + i * bars.w / columns;
      const int right = bars.x + (i + 1) * bars.w / columns;
      const auto height = [&](double count) { return static_cast<int>(count / most * bars.h); };
      const int own = height(at(a, first + static_cast<size_t>(i)));
      const int others = bars.y + bars.h - height(at(b, first + static_cast<size_t>(i)));
      panel_.list.rect({left, bars.y + bars.h - own, std::max(right - left - 1, 1), own},
                       Role::kUtilisation);
      outline.push_back({left, others});
      outline.push_back({right, others});
    }
    outline.push_back({bars.x + bars.w, bars.y + bars.h});
    panel_.list.polyline(outline, Role::kProblem, false, 2);
    panel_.list.line({bars.x, bars.y + bars.h}, {bars.x + bars.w, bars.y + bars.h}, Role::kBorder);
    const Box axis{bars.x, bars.y + bars.h + 2, bars.w, kLineHeight - 2};
    const auto label = [&](std::string text, Align align) {
      panel_.list.text(axis, std::move(text),
                       {.role = Role::kTextDim, .font = Font::kSmall, .align = align});
    };
    label(format_duration({analyzer::bucket_begin_ns(first)}), Align::kLeft);
    label(say("bars: this run · line: the other"), Align::kCentre);
    label(format_duration({analyzer::bucket_begin_ns(end)}), Align::kRight);
  }

  void paint_name(const ComparedName& name, double whole_ns) {
    const Box line{0, y_, 2 * kCompareMargin + width_of(kNameColumns), kLineHeight};
    if (selecting_.selection().name == name.name) panel_.list.rect(line, Role::kAccentSoft);
    const double difference = name.difference_ns();
    const std::array<std::string, kNameColumns.size()> cells = {
        name.name,
        name.on_device ? say("device") : say("host"),
        self_text(name.a),
        self_text(name.b),
        difference_text(difference),
        change_text(name.a ? name.a->self_ns : 0, name.b ? name.b->self_ns : 0),
        compare_count_text(name.a),
        compare_count_text(name.b)};
    draw_cells(kNameColumns, {kCompareMargin, y_}, cells, measure_, panel_.list,
               role_of_difference(difference, whole_ns));
    if (name.a)
      panel_.links.push_back({line, [&on = selecting_, n = name.name] { on.select_name(n); }});
  }

  const Model& model_;
  const ComparedRuns* runs_;
  Selecting& selecting_;
  int width_;
  int height_;
  int top_;
  const TextMeasure& measure_;
  int y_ = kCompareMargin;
  Panel panel_;
};

analyzer::ComparedRun side_of(const Model& model, const RunEvents& events) {
  analyzer::ComparedRun run{.report = &model.report};
  for (size_t r = 0; r < model.ranks.size(); ++r)
    run.ranks.push_back({&events[r].events->lanes, model.ranks[r].steps});
  return run;
}

}  // namespace

std::shared_ptr<const ComparedRuns> compare_models(const Model& run, const RunEvents& events,
                                                   const Model& other) {
  return std::make_shared<const ComparedRuns>(ComparedRuns{
      other.run.name, analyzer::compare(side_of(run, events), side_of(other, events_of(other)))});
}

Panel draw_compare_page(const Model& model, const ComparedRuns* runs, Selecting& selecting,
                        int width, int height, int top, const TextMeasure& measure) {
  return ComparePainter(model, runs, selecting, width, height, top, measure).paint();
}

}  // namespace dprof::view
