// SPDX-License-Identifier: Apache-2.0
#include "gui/view/pages/heatmap_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <unordered_set>

#include "base/format.h"
#include "gui/view/drawing/choice.h"
#include "gui/view/drawing/grid.h"
#include "gui/view/drawing/legend.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/figures/notable_ranks.h"

namespace dprof::view {
namespace {

constexpr int kHeatmapMargin = 16;
constexpr int kChoiceHeight = 26;
constexpr int kChoicesTop = 10;
constexpr int kChoiceLine = 34;      // of words
constexpr int kBelowChoices = 36;    // from their top
constexpr int kBetweenChoices = 24;  // of different kinds
constexpr int kHeatmapAxisHeight = 22;
constexpr int kHeatmapLabelWidth = 160;
constexpr int kMeanWidth = 150;
constexpr int kMeanBar = 70;
constexpr int kStripHeight = 54;      // below the map: the mean of each step
constexpr int kTallest = 28;          // of a row
constexpr int kHeatmapLabelled = 13;  // rows at least that high have a label each
constexpr int kHeatmapGapped = 7;     // and so high ones a gap between them
constexpr int kAxisEvery = 90;        // pixels between numbers of steps
constexpr int kPartOfCulprits = 3;    // of the map's height, at most

// Row positions in a map: even, but culprits' rows are as high as a name, as long as they leave the
// others most of the map.
class RowPlaces {
 public:
  RowPlaces(const Model& model, const StepMatrix& matrix, int pixels) : pixels_(pixels) {
    std::unordered_set<size_t> guilty;
    for (const Culprit& culprit : culprits_of(model)) {
      if (const auto index = model.index_of_rank(culprit.rank)) guilty.insert(*index);
    }
    const size_t rows = matrix.ranks.size();
    size_t wanted = 0;
    for (size_t r = 0; r < rows; ++r) {
      const auto is_guilty = [&](size_t rank) { return guilty.contains(rank); };
      guilty_.push_back(is_guilty(matrix.ranks[r]) ||
                        std::ranges::any_of(matrix.members[r], is_guilty));
      wanted += guilty_.back() ? 1 : 0;
    }
    const double even = static_cast<double>(pixels) / static_cast<double>(rows);
    double high = even;
    if (wanted > 0 && wanted < rows) {
      const double room = static_cast<double>(pixels) / kPartOfCulprits;
      high = std::max(even, std::min<double>(kHeatmapLabelled, room / static_cast<double>(wanted)));
    }
    const double other = wanted == rows ? even
                                        : (pixels - high * static_cast<double>(wanted)) /
                                              static_cast<double>(rows - wanted);
    double low_rows = 0;
    double high_rows = 0;
    for (size_t r = 0; r <= rows; ++r) {
      begins_.push_back(high > even ? low_rows * other + high_rows * high
                                    : static_cast<double>(r) * pixels / static_cast<double>(rows));
      if (r == rows) break;
      (guilty_[r] ? high_rows : low_rows) += 1;
    }
    begins_.back() = pixels;
  }

  [[nodiscard]] bool is_culprit(size_t row) const { return guilty_[row]; }
  [[nodiscard]] int top(size_t row) const { return static_cast<int>(std::ceil(begins_[row])); }
  [[nodiscard]] int middle(size_t row) const { return (top(row) + top(row + 1)) / 2; }
  // Those within a pixel: first and one past the last, at least one.
  [[nodiscard]] std::pair<size_t, size_t> at(int pixel) const {
    const size_t first = row_of(pixel);
    return {first, std::max(first + 1, row_of(pixel + 1))};
  }
  [[nodiscard]] size_t size() const { return guilty_.size(); }
  [[nodiscard]] int pixels() const { return pixels_; }

  // Rows with a label of this height: culprits and the chosen ones as far as they fit, and others
  // evenly between them.
  template <typename Chosen>
  [[nodiscard]] std::vector<size_t> labelled(int needed, const Chosen& chosen) const {
    std::vector<size_t> rows;
    const auto fits = [&](size_t row) {
      return std::ranges::all_of(
          rows, [&](size_t other) { return std::abs(middle(other) - middle(row)) >= needed; });
    };
    const auto add = [&](size_t row) {
      if (fits(row)) rows.push_back(row);
    };
    for (size_t r = 0; r < size(); ++r) {
      if (guilty_[r]) add(r);
    }
    for (size_t r = 0; r < size(); ++r) {
      if (chosen(r)) add(r);
    }
    const double spacing = static_cast<double>(pixels_) / static_cast<double>(size());
    const auto stride = static_cast<size_t>(label_stride(spacing, needed));
    for (size_t r = 0; r < size(); r += stride) add(r);
    std::ranges::sort(rows);
    return rows;
  }

 private:
  // The last one that begins there or earlier.
  [[nodiscard]] size_t row_of(int pixel) const {
    const auto after = std::ranges::upper_bound(begins_, static_cast<double>(pixel));
    return static_cast<size_t>(after - begins_.begin()) - 1;
  }

  int pixels_;
  std::vector<bool> guilty_;
  std::vector<double> begins_;  // of each row, and the end
};

Role colour_of(Metric metric) {
  switch (metric) {
    case Metric::kOwnDelay:
      return Role::kProblem;
    case Metric::kWait:
    case Metric::kExposed:
      return role_of(analyzer::Category::kExposedWait);
    case Metric::kInput:
      return role_of(analyzer::Category::kInputWait);
    case Metric::kStepTime:
      break;
  }
  return Role::kAccent;
}

// The smallest of 1, 2, 5, 10, 20, 50, … that is not below the value.
int64_t round_number(double least) {
  int64_t power = 1;
  while (static_cast<double>(power) * 10 < least) power *= 10;
  for (const int64_t factor : {1, 2, 5}) {
    if (static_cast<double>(factor * power) >= least) return factor * power;
  }
  return 10 * power;
}

// Without a sign if all digits are 0.
std::string ms_or_none(int64_t ns) {
  constexpr int64_t kShownAsZero = 50 * kNsPerUs;
  if (ns == StepMatrix::kUnknown) return "–";
  return format_ms({std::abs(ns) < kShownAsZero ? 0 : ns});
}

class HeatmapPainter {
 public:
  HeatmapPainter(const Model& model, const StepFigures& figures, const Selection& selection,
                 int width, int height, const TextMeasure& measure, PageUse use)
      : model_(model),
        figures_(figures),
        selection_(selection),
        matrix_(figures.matrix()),
        width_(width),
        height_(height),
        measure_(measure),
        use_(use) {}

  HeatmapPage paint() && {
    page_.list.rect({0, 0, width_, height_}, Role::kCanvas);
    paint_choices();
    if (!place_map()) {
      page_.list.text(
          {kHeatmapMargin, map_top(), width_ - 2 * kHeatmapMargin, 22},
          model_.steps.empty()
              ? say("No training step was found; the diagnostics say why.")
              : say("Ranks were not compared with each other; the diagnostics say why."),
          {.role = Role::kTextDim});
      return std::move(page_);
    }
    paint_axis();
    paint_map();
    paint_labels();
    paint_strip();
    paint_selection();
    return std::move(page_);
  }

 private:
  // The words above the map, and the legend of its colours.
  void paint_choices() {
    int x = kHeatmapMargin;
    if (use_ == PageUse::kReport) {
      const MetricInfo& info = info_of(matrix_.metric);
      const std::string about =
          fmt::format("{}: {}", translated(info.title), translated(info.about));
      page_.list.text({x, kChoicesTop, measure_.width(about, Font::kSmall), kChoiceHeight}, about,
                      {.role = Role::kTextDim, .font = Font::kSmall});
      x += measure_.width(about, Font::kSmall);
      paint_legend(x + kBetweenChoices);
      return;
    }
    for (size_t m = 0; m < kMetrics.size(); ++m) {
      const auto metric = static_cast<Metric>(m);
      x = paint_choice(x, translated(kMetrics[m].title), matrix_.metric == metric,
                       [metric](StepFigures& on) { on.show_metric(metric); });
    }
    x += kBetweenChoices;
    if (!divisions().empty()) {  // they need a line of their own
      paint_legend(x);
      choices_y_ += kChoiceLine;
      x = kHeatmapMargin;
    }
    x = paint_orders(x);
    if (!divisions().empty()) {
      paint_divisions(x);
    } else {
      paint_legend(x);
    }
  }

  int paint_orders(int x) {
    for (size_t o = 0; o < kRankOrders.size(); ++o) {
      const auto order = static_cast<RankOrder>(o);
      x = paint_choice(x, translated(kRankOrders[o]), figures_.rows().order == order,
                       [order](StepFigures& on) { on.show_order(order); });
    }
    return x + kBetweenChoices;
  }

  void paint_divisions(int x) {
    const RowChoice& rows = figures_.rows();
    x = paint_choice(x, say("ungrouped"), !rows.division,
                     [](StepFigures& on) { on.divide(std::nullopt); });
    for (size_t d = 0; d < divisions().size(); ++d) {
      x = paint_choice(x, say("by {}", divisions()[d].title), rows.division == d,
                       [d](StepFigures& on) { on.divide(d); });
    }
    if (!rows.division) return;
    paint_choice(x + kBetweenChoices, say("folded"), rows.folded,
                 [folded = !rows.folded](StepFigures& on) { on.fold(folded); });
  }

  [[nodiscard]] const std::vector<RankDivision>& divisions() const {
    return model_.groups.divisions;
  }

  int paint_choice(int x, std::string_view title, bool chosen,
                   std::function<void(StepFigures&)> choose) {
    const Box box = draw_choice({x, choices_y_}, title, chosen, measure_, page_.list);
    page_.choices.push_back({box, std::string(title), std::move(choose)});
    return x + box.w + kChoiceGap;
  }

  void paint_legend(int x) {
    draw_legend({matrix_.low_ns, matrix_.high_ns, colour_of(matrix_.metric)}, x,
                width_ - kHeatmapMargin, kChoicesTop, measure_, page_.list);
  }

  bool place_map() {
    const bool any = std::ranges::any_of(
        matrix_.ns, [](int64_t value) { return value != StepMatrix::kUnknown; });
    const int wide = width_ - 2 * kHeatmapMargin - kHeatmapLabelWidth - kMeanWidth;
    const int high = height_ - map_top() - kStripHeight - kHeatmapMargin;
    if (!any || wide < 1 || high < 1) return false;
    const auto rows = static_cast<int>(matrix_.ranks.size());
    page_.map = {kHeatmapMargin + kHeatmapLabelWidth, map_top(), wide,
                 std::min(high, rows * kTallest)};
    places_.emplace(model_, matrix_, page_.map.h);
    return true;
  }

  [[nodiscard]] int map_top() const { return choices_y_ + kBelowChoices + kHeatmapAxisHeight; }
  [[nodiscard]] const Box& map() const { return page_.map; }
  [[nodiscard]] int row_top(size_t row) const { return map().y + places_->top(row); }
  [[nodiscard]] int column_left(size_t column) const {
    return map().x + position_of(column, matrix_.steps.size(), map().w);
  }

  // Round numbers, spaced as their texts need.
  void paint_axis() {
    const double pixels = static_cast<double>(map().w) / static_cast<double>(matrix_.steps.size());
    const int64_t every = round_number(std::ceil(kAxisEvery / pixels));
    int free = map().x;
    for (size_t s = 0; s < matrix_.steps.size(); ++s) {
      const int x = column_left(s);
      if (x < free || matrix_.steps[s] % every != 0) continue;
      const std::string text = say("step {}", matrix_.steps[s]);
      if (x + measure_.width(text, Font::kSmall) > map().x + map().w) break;
      page_.list.text({x + 2, map().y - kHeatmapAxisHeight, kAxisEvery, kHeatmapAxisHeight}, text,
                      {.role = Role::kTextFaint, .font = Font::kSmall});
      free = x + kAxisEvery;
    }
  }

  void paint_map() {
    const auto wide = static_cast<ptrdiff_t>(map().w);
    std::vector<uint8_t> levels(static_cast<size_t>(wide * map().h), 0);
    const bool gaps = map().h >= kHeatmapGapped * static_cast<int>(matrix_.ranks.size());
    const auto rows_at = [&](int y) { return places_->at(y); };
    std::vector<std::pair<size_t, size_t>> columns;
    for (int x = 0; x < map().w; ++x) columns.push_back(part_of(x, map().w, matrix_.steps.size()));
    std::pair<size_t, size_t> former{1, 0};
    auto former_line = levels.begin();
    for (int y = 0; y < map().h; ++y) {
      const auto rows = rows_at(y);
      const bool last = y + 1 < map().h && rows_at(y + 1) != rows;
      if (gaps && last) continue;  // the canvas between two rows
      const auto line = levels.begin() + y * wide;
      if (rows == former) {
        std::copy_n(former_line, wide, line);
      } else {
        fill_line(rows, columns, line);
        former = rows;
        former_line = line;
      }
    }
    page_.list.image(map(), levels, colour_of(matrix_.metric));
  }

  // The highest of the cells that share a pixel.
  template <typename Out>
  void fill_line(std::pair<size_t, size_t> rows, std::span<const std::pair<size_t, size_t>> columns,
                 Out out) const {
    const size_t steps = matrix_.steps.size();
    std::vector<uint8_t> cells(steps);  // over the rows, by step
    for (size_t r = rows.first; r < rows.second; ++r) {
      const uint8_t* row = matrix_.levels.data() + r * steps;
      for (size_t s = 0; s < steps; ++s) cells[s] = std::max(cells[s], row[s]);
    }
    for (const auto& [first, end] : columns) {
      uint8_t most = 0;
      for (size_t s = first; s < end; ++s) most = std::max(most, cells[s]);
      *out++ = most;
    }
  }

  [[nodiscard]] bool is_chosen(size_t row) const {
    const auto chosen = [&](size_t r) { return selection_.has_rank(model_.ranks[r].rank); };
    return matrix_.members[row].empty() ? chosen(matrix_.ranks[row])
                                        : std::ranges::any_of(matrix_.members[row], chosen);
  }

  // "rank 517  node-64"; for a group its worst rank: "node-64 (8): rank 517".
  [[nodiscard]] std::string label_of(size_t row) const {
    const RankModel& rank = model_.ranks[matrix_.ranks[row]];
    const std::string* group = name_of_group(row);
    if (!matrix_.members[row].empty())
      return say("{} ({}): rank {}", *group, matrix_.members[row].size(), rank.rank);
    if (group != nullptr) return say("rank {}  {}", rank.rank, *group);
    return say("rank {}{}", rank.rank, model_.report.run.hosts > 1 ? "  " + rank.host : "");
  }

  // The division of the rows; nullptr = none.
  [[nodiscard]] const std::string* name_of_group(size_t row) const {
    if (!figures_.rows().division) return nullptr;
    const RankDivision& division = divisions()[*figures_.rows().division];
    return &division.names[division.group[matrix_.ranks[row]]];
  }

  void paint_labels() {
    int64_t most = 1;
    for (const int64_t mean : matrix_.rank_mean_ns) most = std::max(most, mean);
    if (matrix_.metric == Metric::kOwnDelay) most = std::max(most, matrix_.low_ns);
    for (const size_t r :
         places_->labelled(kHeatmapLabelled, [this](size_t row) { return is_chosen(row); })) {
      const int high = row_top(r + 1) - row_top(r);
      const int line = std::max(high, kHeatmapLabelled);
      const int top = std::clamp(row_top(r) - (line - high) / 2, map().y, map().y + map().h - line);
      const bool chosen = is_chosen(r);
      const bool problem = places_->is_culprit(r);
      const Font font = problem || chosen ? Font::kBold : Font::kSmall;
      const Box box{kHeatmapMargin, top, kHeatmapLabelWidth - 10, line};
      page_.list.text(box, elided(label_of(r), box.w, font, measure_),
                      {.role = problem ? Role::kProblem : (chosen ? Role::kAccent : Role::kTextDim),
                       .font = font,
                       .align = Align::kRight});
      if (figures_.rows().folded) {
        const size_t group = divisions()[*figures_.rows().division].group[matrix_.ranks[r]];
        page_.choices.push_back(
            {box, *name_of_group(r), [group](StepFigures& on) { on.toggle_group(group); }});
      }
      paint_mean(matrix_.rank_mean_ns[r], most,
                 {map().x + map().w + 10, top, kMeanWidth - 10, line});
    }
    page_.list.text(
        {map().x + map().w + 10, map().y - kHeatmapAxisHeight, kMeanWidth - 10, kHeatmapAxisHeight},
        say("mean"), {.role = Role::kTextFaint, .font = Font::kSmall});
  }

  void paint_mean(int64_t ns, int64_t most, Box box) {
    if (ns == StepMatrix::kUnknown) return;
    const auto bar = static_cast<int>(ns * kMeanBar / most);
    page_.list.rect({box.x, box.y + box.h / 2 - 4, std::max(bar, 1), 8}, colour_of(matrix_.metric),
                    {}, 110);
    page_.list.text(box, ms_or_none(ns), {.font = Font::kMono, .align = Align::kRight});
  }

  // For each step the mean over ranks, or the worst rank, as bars.
  void paint_strip() {
    const Box strip{map().x, map().y + map().h + 10, map().w, kStripHeight - 14};
    const bool delays = matrix_.metric == Metric::kOwnDelay;
    // Mean own delays are around 0.
    const std::vector<int64_t>& values = delays ? matrix_.step_worst_ns : matrix_.step_mean_ns;
    int64_t most = delays ? std::max<int64_t>(matrix_.low_ns, 1) : 1;
    for (const int64_t value : values) most = std::max(most, value);
    page_.list.text({kHeatmapMargin, strip.y, kHeatmapLabelWidth - 10, strip.h},
                    delays ? say("worst rank") : say("mean over ranks"),
                    {.role = Role::kTextFaint, .font = Font::kSmall, .align = Align::kRight});
    for (int x = 0; x < strip.w; ++x) {
      const auto [first, end] = part_of(x, strip.w, matrix_.steps.size());
      int64_t highest = 0;
      for (size_t s = first; s < end; ++s) highest = std::max(highest, values[s]);
      const auto high = static_cast<int>(highest * strip.h / most);
      if (high > 0)
        page_.list.rect({strip.x + x, strip.y + strip.h - high, 1, high}, Role::kUtilisation);
    }
    page_.list.line({strip.x, strip.y + strip.h}, {strip.x + strip.w, strip.y + strip.h},
                    Role::kBorder);
    page_.list.text({strip.x + strip.w + 10, strip.y - 4, kMeanWidth - 10, 16}, format_ms({most}),
                    {.role = Role::kTextFaint, .font = Font::kSmall});
  }

  void paint_selection() {
    for (size_t r = 0; r < matrix_.ranks.size(); ++r) {
      if (!is_chosen(r)) continue;
      const size_t first = r;
      while (r + 1 < matrix_.ranks.size() && is_chosen(r + 1)) ++r;
      page_.list.frame(
          {map().x - 1, row_top(first) - 1, map().w + 2, row_top(r + 1) - row_top(first) + 2},
          Role::kText);
    }
    if (!selection_.step) return;
    const auto step = std::ranges::find(matrix_.steps, *selection_.step);
    if (step == matrix_.steps.end()) return;
    const auto column = static_cast<size_t>(step - matrix_.steps.begin());
    const int left = column_left(column);
    page_.list.frame({left, map().y - 1, std::max(3, column_left(column + 1) - left), map().h + 2},
                     Role::kText);
  }

  const Model& model_;
  const StepFigures& figures_;
  const Selection& selection_;
  const StepMatrix& matrix_;
  int width_;
  int height_;
  const TextMeasure& measure_;
  PageUse use_;
  HeatmapPage page_;
  int choices_y_ = kChoicesTop;      // of the line of words being painted
  std::optional<RowPlaces> places_;  // once there is a map
};

}  // namespace

HeatmapPage draw_heatmap(const Model& model, const StepFigures& figures, const Selection& selection,
                         int width, int height, const TextMeasure& measure, PageUse use) {
  return HeatmapPainter(model, figures, selection, width, height, measure, use).paint();
}

std::optional<HeatmapCell> heatmap_cell_at(const Model& model, const StepFigures& figures,
                                           const Box& map, Point at) {
  if (!map.contains(at.x, at.y)) return std::nullopt;
  const StepMatrix& matrix = figures.matrix();
  const auto [row, rows_end] = RowPlaces(model, matrix, map.h).at(at.y - map.y);
  const auto [first, end] = part_of(at.x - map.x, map.w, matrix.steps.size());
  // If several share a pixel, the one that it shows.
  size_t best_row = row;
  size_t best = first;
  for (size_t r = row; r < rows_end; ++r) {
    for (size_t s = first; s < end; ++s) {
      if (matrix.at(r, s) > matrix.at(best_row, best)) std::tie(best_row, best) = std::pair(r, s);
    }
  }
  HeatmapCell cell{
      model.ranks[rank_in(model, matrix, best_row, best)].rank, matrix.steps[best], {}};
  cell.text = say("rank {} · step {} · {} {}", cell.rank, cell.step,
                  translated(info_of(matrix.metric).title), ms_or_none(matrix.at(best_row, best)));
  return cell;
}

DrawList draw_heatmap_overlay(const Model& model, const StepFigures& figures, const Box& map,
                              std::optional<Point> mouse, const TextMeasure& measure) {
  DrawList list;
  if (!mouse) return list;
  const std::optional<HeatmapCell> cell = heatmap_cell_at(model, figures, map, *mouse);
  if (!cell) return list;
  const int wide = measure.width(cell->text, Font::kBody) + 24;
  const int left = std::min(mouse->x + 14, map.x + map.w + kMeanWidth - wide);
  const Box tip{left, mouse->y + 16, wide, 28};
  list.rect({tip.x + 1, tip.y + 2, tip.w, tip.h}, Role::kShadow, {}, 120, 6);
  list.rect(tip, Role::kCard, {}, 0, 6);
  list.frame(tip, Role::kBorder, 6);
  list.text({tip.x + 12, tip.y, tip.w - 24, tip.h}, cell->text);
  return list;
}

}  // namespace dprof::view
