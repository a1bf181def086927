// SPDX-License-Identifier: Apache-2.0
#include "gui/view/pages/matrix_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>

#include "base/format.h"
#include "gui/view/drawing/choice.h"
#include "gui/view/drawing/columns.h"
#include "gui/view/drawing/grid.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/figures/collective_groups.h"
#include "gui/view/figures/notable_ranks.h"

namespace dprof::view {
namespace {

constexpr int kMatrixMargin = 16;
constexpr int kMatrixLabelWidth = 76;
constexpr int kMatrixAxisHeight = 24;
constexpr int kLargestCell = 76;
constexpr int kNumbered = 54;        // cells at least this wide show their figure
constexpr int kMatrixGapped = 7;     // and ones this wide have a gap between them
constexpr int kMatrixLabelled = 15;  // pixels that a rank's number needs
constexpr int kBesideMap = 32;
constexpr int kMatrixHeadHeight = 24;
constexpr size_t kMostLines = 200;        // of the list beside the map
constexpr size_t kMostCellLinks = 4'096;  // a larger map's cells are too small to be clicked

constexpr std::array<Column, 3> kMatrixColumns = {{
    {english("pair"), 250, false},
    {"", 120, true},  // the measure
    {english("in"), 150, true},
}};

constexpr std::array<Column, 4> kFlowColumns = {{
    {english("who waits for whom"), 190, false},
    {english("each"), 100, true},
    {english("together"), 100, true},
    {english("in"), 130, true},
}};

std::string figure_text(double value, PairMeasure measure) {
  switch (measure) {
    case PairMeasure::kWait:
    case PairMeasure::kTransfer:
      return format_duration({std::llround(value)});
    case PairMeasure::kBytes:
      return format_bytes(std::llround(value));
    case PairMeasure::kBandwidth:
      return format_bytes(std::llround(value)) + "/s";
    case PairMeasure::kMessages:
      break;
  }
  return format_count(std::llround(value));
}

std::string matrix_count_text(int64_t count, bool waits) {
  return waits ? say_count(count, "{} wait", "{} waits", format_count(count))
               : say_count(count, "{} message", "{} messages", format_count(count));
}

class MatrixPainter {
 public:
  MatrixPainter(const Model& model, PairFigures& figures, const Selection& selection, int width,
                int height, int top, const TextMeasure& measure, PageUse use)
      : model_(model),
        figures_(figures),
        selection_(selection),
        choice_(figures.choice()),
        map_(figures.map()),
        width_(width),
        height_(height),
        top_(top),
        measure_(measure),
        use_(use) {
    for (const Culprit& culprit : culprits_of(model)) culprits_.insert(culprit.rank);
  }

  Panel paint() && {
    if (use_ == PageUse::kWindow) paint_choices();
    paint_about();
    if (map_.cells.empty()) {
      paint_nothing();
    } else {
      place_map();
      paint_map();
      paint_axes();
      paint_lines();
    }
    panel_.width = width_;
    panel_.height = bottom_ + kMatrixMargin;
    DrawList all;
    all.rect({0, top_, width_, height_}, Role::kCanvas);
    all.append(panel_.list);
    panel_.list = std::move(all);
    return std::move(panel_);
  }

 private:
  [[nodiscard]] DrawList& list() { return panel_.list; }
  [[nodiscard]] Role colour() const {
    return choice_.measure == PairMeasure::kWait ? role_of(analyzer::Category::kExposedWait)
                                                 : Role::kAccent;
  }

  // The words of a line, wrapped if the window is narrow.
  class ChoiceLine {
   public:
    ChoiceLine(MatrixPainter& on, int y) : on_(on), y_(y) {}
    void add(std::string_view title, bool chosen, const PairChoice& choice) {
      const int wide = on_.measure_.width(title, Font::kSmall) + 20;
      if (x_ > kMatrixMargin && x_ + wide > on_.width_ - kMatrixMargin) {
        x_ = kMatrixMargin;
        y_ += kLine;
      }
      const Box box = draw_choice({x_, y_}, title, chosen, on_.measure_, on_.list());
      on_.panel_.links.push_back({box, [&on = on_.figures_, choice] { on.show(choice); }});
      x_ += box.w + kChoiceGap;
    }
    [[nodiscard]] int end() const { return y_ + kLine; }

   private:
    static constexpr int kLine = 34;
    MatrixPainter& on_;
    int x_ = kMatrixMargin;
    int y_;
  };

  // Each by name; of many ranks, numbered families as one, and no more than fit in a line or two.
  // two.
  [[nodiscard]] std::vector<std::string> offered_communicators() const {
    constexpr size_t kMostOffered = 24;
    std::vector<std::string> names;
    const bool many = has_many_ranks(model_);
    for (const analyzer::CommunicatorMatrix& matrix : model_.matrices) {
      const std::string family = many ? family_of(matrix.communicator) : "";
      const std::string& name = family.empty() ? matrix.communicator : family;
      if (many && names.size() == kMostOffered) break;
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    return names;
  }

  void paint_choices() {
    ChoiceLine measures(*this, 10);
    for (size_t m = 0; m < kPairMeasures.size(); ++m) {
      const auto measure = static_cast<PairMeasure>(m);
      measures.add(translated(kPairMeasures[m].title), choice_.measure == measure,
                   {measure, choice_.communicator});
    }
    bottom_ = measures.end();
    const std::vector<analyzer::CommunicatorMatrix>& matrices = model_.matrices;
    if (matrices.size() > 1) {
      ChoiceLine communicators(*this, bottom_);
      communicators.add(say("all communicators"), choice_.communicator.empty(),
                        {choice_.measure, ""});
      for (const std::string& name : offered_communicators())
        communicators.add(name, choice_.communicator == name, {choice_.measure, name});
      bottom_ = communicators.end();
    }
  }

  // What the map shows, and what it omits.
  void paint_about() {
    bottom_ = std::max(bottom_, 10);
    sentence(fmt::format("{}: {}.", translated(info_of(choice_.measure).title),
                         translated(info_of(choice_.measure).about)));
    if (choice_.measure == PairMeasure::kWait) {
      if (map_.not_compared > 0)
        sentence(say("{} collectives are left out: the last rank to arrive is unknown.",
                     format_count(map_.not_compared)));
    } else {
      sentence(say("What collectives move between two ranks is not recorded, so it is left out."));
      if (map_.without_figure + map_.unknown_peer > 0)
        sentence(say("{} messages are left out: their size, time or peer is unknown.",
                     format_count(map_.without_figure + map_.unknown_peer)));
    }
    paint_clock_bound();
    bottom_ += 10;
  }

  // Times between ranks are only as exact as their clocks.
  void paint_clock_bound() {
    if (choice_.measure == PairMeasure::kBytes || choice_.measure == PairMeasure::kMessages) return;
    const std::optional<DurationNs> bound = model_.clock_bound();
    if (!bound) {
      sentence(say("How well the ranks' clocks agree is unknown: these times may be off."));
    } else if (bound->ns > 0) {
      sentence(say("The ranks' clocks agree to ± {}: each single time may be off by that.",
                   format_duration(*bound)));
    }
  }

  void sentence(std::string text) {
    list().text({kMatrixMargin, bottom_, width_ - 2 * kMatrixMargin, 20}, std::move(text),
                {.role = Role::kTextDim, .font = Font::kSmall});
    bottom_ += 20;
  }

  void paint_nothing() {
    const bool waits = choice_.measure == PairMeasure::kWait;
    list().text({kMatrixMargin, bottom_ + 10, width_ - 2 * kMatrixMargin, kLineHeight},
                waits ? say("No rank waited for a rank that is known.")
                      : say("No message between ranks was recorded, or none with this figure."),
                {.role = Role::kText});
    bottom_ += 10 + kLineHeight;
  }

  // A square, as large as fits into the window.
  void place_map() {
    const auto ranks = static_cast<int>(map_.ranks.size());
    const int wide =
        width_ - 2 * kMatrixMargin - kMatrixLabelWidth - kBesideMap - width_of(kMatrixColumns);
    const int high = height_ - bottom_ - kMatrixAxisHeight - kMatrixMargin;
    const int side = std::max(std::min({wide, high, ranks * kLargestCell}), 100);
    box_ = {kMatrixMargin + kMatrixLabelWidth, bottom_ + kMatrixAxisHeight, side, side};
  }

  [[nodiscard]] Box cell_box(const PairCell& cell) const {
    const size_t count = map_.ranks.size();
    const size_t row = *map_.index_of(cell.pair.rank);
    const size_t column = *map_.index_of(cell.pair.peer);
    const int x = position_of(column, count, box_.w);
    const int y = position_of(row, count, box_.h);
    const int gap = box_.w >= kMatrixGapped * static_cast<int>(count) ? 1 : 0;
    const int w = std::max(position_of(column + 1, count, box_.w) - x - gap, 1);
    const int h = std::max(position_of(row + 1, count, box_.h) - y - gap, 1);
    return {box_.x + std::min(x, box_.w - 1), box_.y + std::min(y, box_.h - 1), w, h};
  }

  // With many ranks a run's waits add up even if all is well: values below the detection floor of a
  // step are pale.
  [[nodiscard]] double strongest() const {
    double most = std::max(map_.cells.front().value, 1.0);
    const analyzer::Report& report = model_.report;
    if (choice_.measure == PairMeasure::kWait && has_many_ranks(model_) && report.detection &&
        report.run.steps) {
      most = std::max(most, 2.0 * static_cast<double>(report.detection->floor_ns) *
                                static_cast<double>(report.run.steps->steady));
    }
    return most;
  }

  // If several pairs share a pixel, it shows the highest.
  void paint_map() {
    std::vector<uint8_t> levels(static_cast<size_t>(box_.w) * static_cast<size_t>(box_.h), 0);
    const double most = strongest();
    for (const PairCell& cell : map_.cells) {
      const Box at = cell_box(cell);
      const uint8_t level = level_of_share(cell.value / most);
      for (int y = at.y; y < at.y + at.h; ++y) {
        const auto line =
            levels.begin() + static_cast<ptrdiff_t>(y - box_.y) * box_.w + (at.x - box_.x);
        for (auto pixel = line; pixel != line + at.w; ++pixel) *pixel = std::max(*pixel, level);
      }
    }
    list().rect({box_.x - 1, box_.y - 1, box_.w + 2, box_.h + 2}, Role::kLaneBackground);
    list().image(box_, levels, colour());
    list().frame({box_.x - 1, box_.y - 1, box_.w + 2, box_.h + 2}, Role::kBorder);
    const bool numbered = box_.w / static_cast<int>(map_.ranks.size()) >= kNumbered;
    for (const PairCell& cell : map_.cells) {
      const Box at = cell_box(cell);
      const auto pick = [&on = figures_, pair = cell.pair] { on.select(pair); };
      if (map_.cells.size() <= kMostCellLinks) panel_.links.push_back({at, pick, /*shows=*/true});
      if (numbered) {
        constexpr double kDark = 0.55;  // of the highest: its text must be light or dark
        list().text(at, figure_text(cell.value, choice_.measure),
                    {.role = cell.value / most > kDark ? colour() : Role::kText,
                     .font = Font::kSmall,
                     .align = Align::kCentre,
                     .on_fill = cell.value / most > kDark});
      }
      if (is_selected(cell.pair)) list().frame(at, Role::kText, 0, 2);
    }
    bottom_ = box_.y + box_.h;
  }

  [[nodiscard]] bool is_selected(analyzer::RankPair pair) const {
    return selection_.ranks == std::vector<int>{pair.rank, pair.peer};
  }

  void paint_axes() {
    const bool waits = choice_.measure == PairMeasure::kWait;
    list().text(
        {kMatrixMargin, box_.y - kMatrixAxisHeight, kMatrixLabelWidth - 10, kMatrixAxisHeight},
        waits ? say("waits ↓ for →") : say("from ↓ to →"),
        {.role = Role::kTextFaint, .font = Font::kSmall, .align = Align::kRight});
    const size_t count = map_.ranks.size();
    const auto guilty = [&](size_t r) { return culprits_.contains(map_.ranks[r]); };
    const auto chosen = [&](size_t r) { return selection_.has_rank(map_.ranks[r]) || guilty(r); };
    const auto style_of = [&](size_t r, Align align) {
      const Role marked = guilty(r) ? Role::kProblem : Role::kAccent;
      return TextStyle{.role = chosen(r) ? marked : Role::kTextDim,
                       .font = chosen(r) ? Font::kBold : Font::kSmall,
                       .align = align};
    };
    const int needed = measure_.width(std::to_string(map_.ranks.back()), Font::kBold) + 8;
    for (const size_t r : labelled_places(count, box_.w, needed, chosen)) {
      const int middle =
          box_.x + (position_of(r, count, box_.w) + position_of(r + 1, count, box_.w)) / 2;
      list().text({middle - needed / 2, box_.y - kMatrixAxisHeight, needed, kMatrixAxisHeight},
                  std::to_string(map_.ranks[r]), style_of(r, Align::kCentre));
    }
    for (const size_t r : labelled_places(count, box_.h, kMatrixLabelled, chosen)) {
      const int middle =
          box_.y + (position_of(r, count, box_.h) + position_of(r + 1, count, box_.h)) / 2;
      const int top = std::max(middle - kMatrixLabelled / 2, box_.y - 3);  // the axis is above
      list().text({kMatrixMargin, top, kMatrixLabelWidth - 10, kMatrixLabelled},
                  say("rank {}", map_.ranks[r]), style_of(r, Align::kRight));
    }
  }

  // With many ranks who waits for whom as flows, else the most expensive pairs, in words.
  void paint_lines() {
    if (choice_.measure == PairMeasure::kWait && has_many_ranks(model_)) {
      paint_flows();
    } else {
      paint_pairs();
    }
  }

  // "rank 21 ← 63 ranks", the mean wait of each, and the total.
  void paint_flows() {
    const std::vector<PairFlow> flows = flows_of(map_);
    const int x = box_.x + box_.w + kBesideMap;
    int y = box_.y - kMatrixAxisHeight;
    draw_heads(kFlowColumns, {x, y}, kMatrixHeadHeight, list());
    y += kMatrixHeadHeight;
    list().line({x, y - 1}, {x + width_of(kFlowColumns), y - 1}, Role::kBorder);
    const auto room = static_cast<size_t>(std::max(height_ - y - kLineHeight, 0) / kLineHeight);
    const size_t lines = std::min(flows.size(), use_ == PageUse::kWindow ? kMostLines : room);
    for (size_t f = 0; f < lines; ++f, y += kLineHeight) {
      const PairFlow& flow = flows[f];
      const Box line{x, y, width_of(kFlowColumns), kLineHeight};
      if (is_selected(flow.most)) list().rect(line, Role::kAccentSoft);
      panel_.links.push_back({line, [&on = figures_, pair = flow.most] { on.select(pair); },
                              /*shows=*/true});
      const std::array<std::string, kFlowColumns.size()> cells = {
          say_count(flow.ranks, "rank {} ← {} rank", "rank {} ← {} ranks", flow.peer,
                    format_count(static_cast<int64_t>(flow.ranks))),
          figure_text(flow.each(), choice_.measure), figure_text(flow.value, choice_.measure),
          matrix_count_text(flow.count, /*waits=*/true)};
      draw_cells(kFlowColumns, {x, y}, cells, measure_, list(),
                 culprits_.contains(flow.peer) ? Role::kProblem : Role::kText);
    }
    if (lines < flows.size()) {
      list().text({x, y, width_of(kFlowColumns), kLineHeight},
                  say("{} of the {} ranks that others waited for are listed",
                      format_count(static_cast<int64_t>(lines)),
                      format_count(static_cast<int64_t>(flows.size()))),
                  {.role = Role::kTextDim, .font = Font::kSmall});
      y += kLineHeight;
    }
    bottom_ = std::max(bottom_, y);
  }

  void paint_pairs() {
    const int x = box_.x + box_.w + kBesideMap;
    int y = box_.y - kMatrixAxisHeight;
    std::array<Column, kMatrixColumns.size()> columns = kMatrixColumns;
    columns[1].title = info_of(choice_.measure).title;
    draw_heads(columns, {x, y}, kMatrixHeadHeight, list());
    y += kMatrixHeadHeight;
    list().line({x, y - 1}, {x + width_of(kMatrixColumns), y - 1}, Role::kBorder);
    const auto room = static_cast<size_t>(std::max(height_ - y - kLineHeight, 0) / kLineHeight);
    const size_t most = use_ == PageUse::kWindow ? kMostLines : room;
    const size_t lines = std::min(map_.cells.size(), most);
    for (size_t c = 0; c < lines; ++c, y += kLineHeight) {
      const PairCell& cell = map_.cells[c];
      const Box line{x, y, width_of(kMatrixColumns), kLineHeight};
      if (is_selected(cell.pair)) list().rect(line, Role::kAccentSoft);
      panel_.links.push_back({line, [&on = figures_, pair = cell.pair] { on.select(pair); },
                              /*shows=*/true});
      const bool waits = choice_.measure == PairMeasure::kWait;
      const std::array<std::string, kMatrixColumns.size()> cells = {
          say("rank {} {} rank {}", cell.pair.rank, translated(info_of(choice_.measure).verb),
              cell.pair.peer),
          figure_text(cell.value, choice_.measure), matrix_count_text(cell.count, waits)};
      draw_cells(kMatrixColumns, {x, y}, cells, measure_, list());
    }
    if (lines < map_.cells.size()) {
      list().text({x, y, width_of(kMatrixColumns), kLineHeight},
                  say("{} of {} pairs are listed", format_count(static_cast<int64_t>(lines)),
                      format_count(static_cast<int64_t>(map_.cells.size()))),
                  {.role = Role::kTextDim, .font = Font::kSmall});
      y += kLineHeight;
    }
    bottom_ = std::max(bottom_, y);
  }

  const Model& model_;
  PairFigures& figures_;
  const Selection& selection_;
  const PairChoice choice_;
  const PairMap& map_;
  int width_;
  int height_;
  int top_;
  const TextMeasure& measure_;
  PageUse use_;
  std::unordered_set<int> culprits_;
  Box box_;
  int bottom_ = 0;
  Panel panel_;
};

}  // namespace

Panel draw_matrix_page(const Model& model, PairFigures& figures, const Selection& selection,
                       int width, int height, int top, const TextMeasure& measure, PageUse use) {
  return MatrixPainter(model, figures, selection, width, height, top, measure, use).paint();
}

}  // namespace dprof::view
