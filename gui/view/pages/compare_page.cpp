// SPDX-License-Identifier: Apache-2.0
#include "gui/view/pages/compare_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analyzer/diff/render.h"
#include "analyzer/diff/run_facts.h"
#include "analyzer/render/json.h"
#include "base/format.h"
#include "gui/view/drawing/columns.h"
#include "gui/view/drawing/document_view.h"
#include "gui/view/drawing/lod.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/drawing/time_scale.h"

namespace dprof::view {
namespace {

using analyzer::ComparedName;
using analyzer::NameCost;

constexpr int kCompareMargin = 24;
constexpr int kCompareHeadHeight = 24;
constexpr int kCompareGap = 40;  // between the changes and the durations
constexpr int kLengthsHeight = 190;
constexpr int kLeastLengths = 220;   // pixels of width
constexpr int kBesideLengths = 640;  // of the tables, if durations are beside them
constexpr int kCompareStripHeight = 16;
constexpr int kCompareStripStripe = 4;  // of communication that runs beside it
constexpr int kCompareStripLabel = 110;
constexpr int kCompareStripLength = 90;  // of the text behind it
constexpr size_t kMostBeside = 4;        // ranks
constexpr int kComparedTop = 8;          // lines of a table of changes

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
      paint_answer();
      paint_steps();
      paint_changes();
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

  void document(const analyzer::Document& said, int width) {
    y_ = draw_document(said, {kCompareMargin, y_}, width, measure_, panel_.list);
  }

  // As in `dprof diff`: A is this run, B the other.
  void paint_answer() {
    y_ += 10;
    if (!runs_->diff) {
      if (!runs_->why_no_diff.empty()) sentence(runs_->why_no_diff, Role::kWarnText);
      return;
    }
    const analyzer::Span answer = analyzer::diff_answer(*runs_->diff);
    y_ = draw_wrapped(answer.text, {kCompareMargin, y_}, width_ - 2 * kCompareMargin,
                      kCompareHeadHeight, {.role = role_of(answer.style), .font = Font::kTitle},
                      measure_, panel_.list);
    y_ += 8;
    document({{analyzer::diff_facts(*runs_->diff)}}, width_ - 2 * kCompareMargin);
    document(analyzer::dissimilar_section(*runs_->diff), width_ - 2 * kCompareMargin);
  }

  // A step of both, rank by rank, one below the other on one scale from their begins.
  void paint_steps() {
    const auto [step, others] = shown_steps_of_both();
    struct Strip {
      Interval window;
      const SummaryLane* lane = nullptr;
    };
    std::vector<std::pair<Strip, Strip>> pairs;
    int64_t longest = 0;
    const auto strip_in = [&](const std::vector<analyzer::StepWindow>& steps,
                              const SummaryLane& lane, int64_t index) {
      const auto found = std::ranges::find(steps, index, &analyzer::StepWindow::index);
      if (found == steps.end()) return Strip{};
      longest = std::max(longest, found->window.length().ns);
      return Strip{found->window, &lane};
    };
    for (const OtherRank& other : runs_->beside) {
      const RankModel* own = model_.rank(other.rank);
      if (own == nullptr) continue;
      pairs.emplace_back(strip_in(own->steps, own->summary, step),
                         strip_in(other.steps, other.summary, others));
    }
    const int room = width_ - 2 * kCompareMargin - kCompareStripLabel - kCompareStripLength;
    if (longest == 0 || room < kLeastLengths) return;
    y_ += 20;
    panel_.list.text({kCompareMargin, y_, width_ - 2 * kCompareMargin, kCompareHeadHeight},
                     step == others
                         ? say("Step {} of both, from its begin on", step)
                         : say("A usual step of each, from its begin on: {} and {}", step, others),
                     {.font = Font::kHeading});
    y_ += kCompareHeadHeight + 4;
    for (size_t i = 0; i < pairs.size(); ++i) {
      const int rank = runs_->beside[i].rank;
      const int top = y_;
      paint_strip(pairs[i].first.window, pairs[i].first.lane, longest, room,
                  say("rank {} · A", rank));
      paint_strip(pairs[i].second.window, pairs[i].second.lane, longest, room, "B");
      panel_.links.push_back(
          {{kCompareMargin, top, width_ - 2 * kCompareMargin, y_ - top},
           [&on = selecting_, rank, index = step] { on.select_cell(rank, index); },
           /*shows=*/true});
      y_ += 8;
    }
  }

  // The chosen step if both runs have it.
  [[nodiscard]] std::pair<int64_t, int64_t> shown_steps_of_both() const {
    const std::optional<int64_t> chosen = selecting_.selection().step;
    const auto has = [&](const OtherRank& other) {
      return std::ranges::count(other.steps, *chosen, &analyzer::StepWindow::index) > 0;
    };
    if (chosen && std::ranges::any_of(runs_->beside, has) && model_.index_of_step(*chosen))
      return {*chosen, *chosen};
    return {runs_->usual_step, runs_->others_usual_step};
  }

  void paint_strip(Interval window, const SummaryLane* lane, int64_t longest, int room,
                   std::string label) {
    panel_.list.text({kCompareMargin, y_, kCompareStripLabel - 10, kCompareStripHeight + 2},
                     std::move(label),
                     {.role = Role::kTextDim, .font = Font::kSmall, .align = Align::kRight});
    const int left = kCompareMargin + kCompareStripLabel;
    panel_.list.rect({left, y_ + 1, room, kCompareStripHeight}, Role::kLaneBackground);
    if (lane != nullptr) {
      const TimeScale scale({window.begin, window.begin + DurationNs{longest}}, room);
      const int end = scale.pixel_of(window.end);
      std::vector<SliceBox> boxes;
      boxes_of(lane->slices(), lane->lod, scale, boxes);
      for (const SliceBox& box : boxes) {
        const int from = std::max(box.x0, 0);
        const Box place{left + from, y_ + 1, std::min(box.x1, end) - from, kCompareStripHeight};
        if (place.w <= 0) continue;
        draw_category(place, static_cast<analyzer::Category>(lane->category[box.slice]),
                      panel_.list);
        if (lane->overlapped[box.slice] != 0) {
          panel_.list.rect({place.x, place.y + kCompareStripHeight - kCompareStripStripe, place.w,
                            kCompareStripStripe},
                           role_of(analyzer::Category::kExposedTransfer));
        }
      }
      panel_.list.text({left + room, y_, kCompareStripLength - 8, kCompareStripHeight + 2},
                       format_duration(window.length()),
                       {.font = Font::kMono, .align = Align::kRight});
    }
    y_ += kCompareStripHeight + 2;
  }

  // The first table is where the change is: beside it, durations of the chosen name.
  void paint_changes() {
    if (!runs_->diff) return paint_lengths(runs_->comparison, y_);
    const analyzer::Document all = analyzer::changes_section(*runs_->diff, {.top = kComparedTop});
    const auto is_heading = [](const analyzer::Block& block) {
      return std::holds_alternative<analyzer::Heading>(block);
    };
    auto second = all.blocks.begin();
    if (second != all.blocks.end()) second = std::find_if(second + 1, all.blocks.end(), is_heading);
    const int top = y_;
    document({std::vector(all.blocks.begin(), second)}, width_ - 2 * kCompareMargin);
    paint_lengths(runs_->comparison, top);
    document({std::vector(second, all.blocks.end())}, width_ - 2 * kCompareMargin);
  }

  void paint_names(const analyzer::RunComparison& comparison) {
    if (!comparison.why_no_names.empty()) {
      y_ += 12;
      sentence(say("Names cannot be compared: {}.", comparison.why_no_names), Role::kTextDim);
      return;
    }
    y_ += 20;
    sentence(say("Every name: what is longer in the other run has ▲, what is shorter ▼. A click "
                 "shows how long its events take, and chooses them in this run."),
             Role::kTextDim);
    heads(kNameColumns);
    const double whole_ns = comparison.a ? comparison.a->wall_ns : 0;
    for (const ComparedName& name : comparison.names) {
      if (in_view(y_)) paint_name(name, whole_ns);
      y_ += kLineHeight;
    }
  }

  // Beside the changes, for the chosen name: how long its events take in each run, one above the
  // other on one scale, per rank and step.
  void paint_lengths(const analyzer::RunComparison& comparison, int top) {
    const auto name =
        std::ranges::find(comparison.names, selecting_.selection().name, &ComparedName::name);
    const Box area{kCompareMargin + kBesideLengths + kCompareGap, top + 18,
                   width_ - 2 * kCompareMargin - kBesideLengths - kCompareGap, kLengthsHeight};
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

// The digest of a run as `dprof diff` uses it: names are summed over as many ranks.
Result<analyzer::RunFacts> facts_of(const Model& model, const RunEvents& events) {
  analyzer::Report report = model.report;
  const size_t ranks = std::min(analyzer::Names::kMostRanks, model.ranks.size());
  analyzer::ComparedRun named{.report = &model.report};
  std::vector<int> numbers;
  for (size_t i = 0; i < ranks; ++i) {
    const size_t r = i * model.ranks.size() / ranks;
    named.ranks.push_back({&events[r].events->lanes, model.ranks[r].steps});
    numbers.push_back(model.ranks[r].rank);
  }
  report.names = analyzer::names_of(named, std::move(numbers));
  return analyzer::facts_of_json(analyzer::render_json(report), model.run.name);
}

// Index of a steady step of median length; if a run has none, of the first step.
int64_t usual_step_of(const Model& model) {
  std::vector<analyzer::StepWindow> steady;
  for (const analyzer::StepWindow& step : model.steps) {
    if (model.report.run.steps && step.index >= model.report.run.steps->first_steady &&
        step.index <= model.report.run.steps->last_steady)
      steady.push_back(step);
  }
  if (steady.empty()) return model.steps.empty() ? 0 : model.steps.front().index;
  const auto middle = steady.begin() + static_cast<ptrdiff_t>(steady.size() / 2);
  std::ranges::nth_element(steady, middle, {},
                           [](const analyzer::StepWindow& step) { return step.window.length(); });
  return middle->index;
}

std::vector<OtherRank> ranks_beside(const Model& run, const Model& other,
                                    const std::optional<analyzer::Diff>& diff) {
  std::vector<int> order;
  for (const analyzer::ChangedRank& rank :
       diff ? diff->ranks : std::vector<analyzer::ChangedRank>())
    order.push_back(rank.rank);
  for (const RankModel& rank : run.ranks) {
    if (order.size() >= kMostBeside) break;
    if (std::ranges::count(order, rank.rank) == 0) order.push_back(rank.rank);
  }
  std::vector<OtherRank> chosen;
  for (const int number : order) {
    const RankModel* rank = other.rank(number);
    if (rank == nullptr || run.rank(number) == nullptr) continue;
    chosen.push_back({number, rank->steps, rank->summary});
    if (chosen.size() == kMostBeside) break;
  }
  return chosen;
}

}  // namespace

std::shared_ptr<const ComparedRuns> compare_models(const Model& run, const RunEvents& events,
                                                   const Model& other) {
  const RunEvents others = events_of(other);
  ComparedRuns runs{.other_name = other.run.name,
                    .comparison = analyzer::compare(side_of(run, events), side_of(other, others))};
  const Result<analyzer::RunFacts> a = facts_of(run, events);
  const Result<analyzer::RunFacts> b = facts_of(other, others);
  if (a.ok() && b.ok()) {
    runs.diff = analyzer::diff_of(std::span(&*a, 1), std::span(&*b, 1));
  } else {
    runs.why_no_diff = (a.ok() ? b : a).error().what;
  }
  runs.beside = ranks_beside(run, other, runs.diff);
  runs.usual_step = usual_step_of(run);
  runs.others_usual_step = usual_step_of(other);
  return std::make_shared<const ComparedRuns>(std::move(runs));
}

Panel draw_compare_page(const Model& model, const ComparedRuns* runs, Selecting& selecting,
                        int width, int height, int top, const TextMeasure& measure) {
  return ComparePainter(model, runs, selecting, width, height, top, measure).paint();
}

}  // namespace dprof::view
