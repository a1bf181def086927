// SPDX-License-Identifier: Apache-2.0
#include "gui/view/pages/topology_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <unordered_set>

#include "base/format.h"
#include "gui/view/drawing/choice.h"
#include "gui/view/drawing/columns.h"
#include "gui/view/drawing/grid.h"
#include "gui/view/drawing/legend.h"
#include "gui/view/figures/notable_ranks.h"

namespace dprof::view {
namespace {

constexpr int kTopologyMargin = 16;
constexpr int kTopologyLabelWidth = 160;
constexpr int kTopologyAxisHeight = 24;
constexpr int kLineWaitWidth = 250;  // right of the grid: the waits along its rows
constexpr int kLineWaitBar = 70;
constexpr int kStripOfWaits = 10;  // below a block: the waits along its columns
constexpr int kBetweenBlocks = 8;
constexpr int kLargestGridCell = 64;
constexpr int kLeastGrid = 120;
constexpr int kTopologyGapped = 6;     // cells at least that large have a gap between them
constexpr int kTopologyLabelled = 15;  // pixels that a row's label needs

constexpr std::array<Column, 6> kLineColumns = {{
    {english("communicators"), 160, false},
    {english("number"), 80, true},
    {english("ranks each"), 90, true},
    {english("median wait"), 110, true},
    {english("longest wait"), 110, true},
    {english("which is"), 300, false},
}};

// The axis to the right, and those downwards in blocks.
struct GridShape {
  size_t across = 0;         // position in RankGroups::axes
  std::vector<size_t> down;  // likewise, outermost first
  size_t columns = 0;
  size_t rows = 0;
  size_t rows_of_block = 0;

  explicit GridShape(const std::vector<GridAxis>& axes) {
    if (axes.empty()) return;
    for (size_t a = 0; a < axes.size(); ++a) {
      if (axes[a].size >= axes[across].size) across = a;
    }
    for (size_t a = axes.size(); a-- > 0;) {
      if (a != across) down.push_back(a);
    }
    columns = axes[across].size;
    rows = 1;
    for (const size_t a : down) rows *= axes[a].size;
    rows_of_block = down.empty() ? 1 : axes[down.back()].size;
  }

  [[nodiscard]] size_t blocks() const { return rows / rows_of_block; }
  [[nodiscard]] size_t column_of(const std::vector<GridAxis>& axes, size_t rank) const {
    return axes[across].at[rank];
  }
  [[nodiscard]] size_t row_of(const std::vector<GridAxis>& axes, size_t rank) const {
    size_t row = 0;
    for (const size_t a : down) row = row * axes[a].size + axes[a].at[rank];
    return row;
  }
};

std::string wait_text(int64_t ns) { return format_ms({ns}); }

std::vector<int> members_of(const Model& model, size_t axis, size_t line) {
  std::vector<int> ranks;
  for (size_t r = 0; r < model.ranks.size(); ++r) {
    if (model.groups.axes[axis].line[r] == line) ranks.push_back(model.ranks[r].rank);
  }
  return ranks;
}

class TopologyPainter {
 public:
  TopologyPainter(const Model& model, GridFigures& figures, Selecting& selecting, int width,
                  int height, const TextMeasure& measure)
      : model_(model),
        axes_(model.groups.axes),
        figures_(figures),
        values_(figures.values()),
        waits_(figures.waits()),
        selecting_(selecting),
        width_(width),
        height_(height),
        measure_(measure) {
    for (const Culprit& culprit : culprits_of(model)) {
      if (const auto index = model.index_of_rank(culprit.rank)) culprits_.insert(*index);
    }
  }

  Panel paint() && {
    if (axes_.empty()) {
      bottom_ = draw_wrapped(
          say("No grid is known: all ranks are in one group on one host, or their groups are of "
              "different sizes. Groups are known by the members of their collectives."),
          {kTopologyMargin, kTopologyMargin}, width_ - 2 * kTopologyMargin, kLineHeight,
          {.role = Role::kTextDim}, measure_, list());
    } else {
      paint_choices();
      paint_about();
      place_grid();
      paint_cells();
      paint_columns();
      paint_rows();
      paint_strips();
      paint_lines();
    }
    panel_.height = bottom_ + kTopologyMargin;
    DrawList all;
    all.rect({0, 0, width_, std::max(height_, panel_.height)}, Role::kCanvas);
    all.append(panel_.list);
    panel_.list = std::move(all);
    return std::move(panel_);
  }

 private:
  [[nodiscard]] DrawList& list() { return panel_.list; }
  [[nodiscard]] size_t count() const { return model_.ranks.size(); }
  [[nodiscard]] Role colour() const {
    return figures_.measure() == GridMeasure::kOwnDelay ? Role::kProblem
                                                        : role_of(analyzer::Category::kExposedWait);
  }

  // If one is late all wait: the waits must not outshine it.
  [[nodiscard]] double strongest() const {
    constexpr double kOfWaits = 0.55;
    return figures_.measure() == GridMeasure::kWait ? kOfWaits : 1;
  }

  void paint_choices() {
    int x = kTopologyMargin;
    for (size_t m = 0; m < kGridMeasures.size(); ++m) {
      const auto measure = static_cast<GridMeasure>(m);
      const Box box = draw_choice({x, 10}, translated(kGridMeasures[m].title),
                                  figures_.measure() == measure, measure_, list());
      panel_.links.push_back({box, [&on = figures_, measure] { on.show(measure); }});
      x += box.w + kChoiceGap;
    }
    draw_legend({values_.low_ns, values_.high_ns, colour(), strongest()}, x,
                width_ - kTopologyMargin, 10, measure_, list());
    bottom_ = 10 + 36;
  }

  // "1,024 ranks: 16 tensor × 64 data".
  void paint_about() {
    std::string sizes;
    for (const GridAxis& axis : axes_) {
      sizes += fmt::format("{}{} {}", sizes.empty() ? "" : " × ", axis.size, title_of(axis.role));
    }
    sentence(say("{} ranks: {}", format_count(static_cast<int64_t>(count())), sizes));
    const GridMeasureInfo& info = kGridMeasures[static_cast<size_t>(figures_.measure())];
    sentence(fmt::format("{}: {}", translated(info.title), translated(info.about)));
    bottom_ += 6;
  }

  void sentence(const std::string& text) {
    list().text({kTopologyMargin, bottom_, width_ - 2 * kTopologyMargin, 20},
                elided(text, width_ - 2 * kTopologyMargin, Font::kSmall, measure_),
                {.role = Role::kTextDim, .font = Font::kSmall});
    bottom_ += 20;
  }

  void place_grid() {
    const int below = kLineHeight * (static_cast<int>(axes_.size()) + 2) + kTopologyMargin;
    const int apart = static_cast<int>(shape_.blocks()) * after_block();
    const int wide = width_ - 2 * kTopologyMargin - kTopologyLabelWidth - kLineWaitWidth;
    const int high = height_ - bottom_ - kTopologyAxisHeight - below - apart;
    const auto fitting = [](int pixels, size_t cells) {
      return std::min(pixels, static_cast<int>(cells) * kLargestGridCell);
    };
    grid_ = {kTopologyMargin + kTopologyLabelWidth, bottom_ + kTopologyAxisHeight,
             std::max(fitting(wide, shape_.columns), kLeastGrid),
             std::max(fitting(high, shape_.rows), kLeastGrid)};
    bottom_ = grid_.y + grid_.h + apart;
    for (size_t r = 0; r < count(); ++r) {
      const size_t row = shape_.row_of(axes_, r);
      const size_t column = shape_.column_of(axes_, r);
      rows_.push_back(row);
      guilty_row_.insert(culprits_.contains(r) ? row : SIZE_MAX);
      chosen_row_.insert(is_chosen(r) ? row : SIZE_MAX);
      chosen_column_.insert(is_chosen(r) ? column : SIZE_MAX);
      if (culprits_.contains(r)) guilty_column_[column].push_back(r);
    }
  }

  // Pixels between two blocks, with the waits along the columns of the upper one.
  [[nodiscard]] int after_block() const { return kStripOfWaits + kBetweenBlocks; }
  [[nodiscard]] int row_top(size_t row) const {
    return grid_.y + position_of(row, shape_.rows, grid_.h) +
           static_cast<int>(row / shape_.rows_of_block) * after_block();
  }
  [[nodiscard]] int column_left(size_t column) const {
    return grid_.x + position_of(column, shape_.columns, grid_.w);
  }
  [[nodiscard]] Box cell_box(size_t rank) const {
    const size_t row = rows_[rank];
    const size_t column = shape_.column_of(axes_, rank);
    const int left = column_left(column);
    const int top = row_top(row);
    const int w = column_left(column + 1) - left;
    const int h =
        position_of(row + 1, shape_.rows, grid_.h) - position_of(row, shape_.rows, grid_.h);
    const int gap = std::min(w, h) >= kTopologyGapped ? 1 : 0;
    return {left, top, std::max(w - gap, 1), std::max(h - gap, 1)};
  }
  [[nodiscard]] bool is_chosen(size_t rank) const {
    return selecting_.selection().has_rank(model_.ranks[rank].rank);
  }

  [[nodiscard]] double share_of(int64_t ns) const {
    if (values_.high_ns <= values_.low_ns) return 0;
    return std::clamp(static_cast<double>(ns - values_.low_ns) /
                          static_cast<double>(values_.high_ns - values_.low_ns),
                      0.0, 1.0);
  }

  // A picture per block; if several ranks share a pixel, it shows the highest.
  void paint_cells() {
    for (size_t block = 0; block < shape_.blocks(); ++block) {
      const int top = row_top(block * shape_.rows_of_block);
      const int high = row_end(block) - top;
      std::vector<uint8_t> levels(static_cast<size_t>(grid_.w) * static_cast<size_t>(high), 0);
      for (size_t r = 0; r < count(); ++r) {
        if (rows_[r] / shape_.rows_of_block != block || !values_.ns[r]) continue;
        const Box box = cell_box(r);
        const uint8_t level = level_of_share(strongest() * share_of(*values_.ns[r]));
        for (int y = box.y - top; y < std::min(box.y - top + box.h, high); ++y) {
          const auto line = levels.begin() + static_cast<ptrdiff_t>(y) * grid_.w;
          for (int x = box.x - grid_.x; x < std::min(box.x - grid_.x + box.w, grid_.w); ++x)
            line[x] = std::max(line[x], level);
        }
      }
      list().image({grid_.x, top, grid_.w, high}, levels, colour());
      list().frame({grid_.x - 1, top - 1, grid_.w + 2, high + 2}, Role::kBorder);
    }
    for (size_t r = 0; r < count(); ++r) paint_marks(r);
  }

  [[nodiscard]] int row_end(size_t block) const {
    const size_t next = (block + 1) * shape_.rows_of_block;
    return grid_.y + position_of(next, shape_.rows, grid_.h) +
           static_cast<int>(block) * after_block();
  }

  // A culprit is visible whatever its figure, and at least a dot.
  void paint_marks(size_t rank) {
    constexpr int kDot = 8;
    const Box box = cell_box(rank);
    panel_.links.push_back(
        {box, [&on = selecting_, number = model_.ranks[rank].rank] { on.select_rank(number); },
         /*shows=*/true});
    if (culprits_.contains(rank)) {
      const int w = std::max(box.w, kDot);
      const int h = std::max(box.h, kDot);
      list().rect({box.x - (w - box.w) / 2, box.y - (h - box.h) / 2, w, h}, Role::kProblem,
                  {.rank = model_.ranks[rank].rank}, 0, 2);
    }
    constexpr int kNumberedWidth = 32;
    if (box.w >= kNumberedWidth && box.h >= kTopologyLabelled) paint_number(rank, box);
    if (is_chosen(rank))
      list().frame({box.x - 1, box.y - 1, box.w + 2, box.h + 2}, Role::kText, 0, 2);
  }

  void paint_number(size_t rank, Box cell) {
    constexpr double kDark = 0.55;  // text on it has to be light or dark
    const bool guilty = culprits_.contains(rank);
    const double level = values_.ns[rank] ? strongest() * share_of(*values_.ns[rank]) : 0;
    const Role on = guilty ? Role::kProblem : colour();
    const bool dark = guilty || level > kDark;
    list().text(cell, std::to_string(model_.ranks[rank].rank),
                {.role = dark ? on : Role::kText,
                 .font = guilty ? Font::kBold : Font::kSmall,
                 .align = Align::kCentre,
                 .on_fill = dark});
  }

  // Names above: numbers along the axis, culprits by name.
  void paint_columns() {
    const int y = grid_.y - kTopologyAxisHeight;
    const GridAxis& axis = axes_[shape_.across];
    list().text({kTopologyMargin, y, kTopologyLabelWidth - 10, kTopologyAxisHeight},
                say("{} →", title_of(axis.role)),
                {.role = Role::kTextFaint, .font = Font::kSmall, .align = Align::kRight});
    int most = measure_.width(std::to_string(shape_.columns), Font::kSmall) + 8;
    for (const auto& [column, ranks] : guilty_column_)
      most = std::max(most, measure_.width(name_of_culprits(ranks), Font::kBold) + 8);
    const auto wanted = [this](size_t column) {
      return guilty_column_.contains(column) || chosen_column_.contains(column);
    };
    for (const size_t column : labelled_places(shape_.columns, grid_.w, most, wanted)) {
      const auto guilty = guilty_column_.find(column);
      const bool is_guilty = guilty != guilty_column_.end();
      const bool chosen = chosen_column_.contains(column);
      const int middle = (column_left(column) + column_left(column + 1)) / 2;
      const int left = std::clamp(middle - most / 2, grid_.x, grid_.x + grid_.w - most);
      list().text({left, y, most, kTopologyAxisHeight},
                  is_guilty ? name_of_culprits(guilty->second) : std::to_string(column),
                  {.role = is_guilty ? Role::kProblem : (chosen ? Role::kAccent : Role::kTextDim),
                   .font = is_guilty || chosen ? Font::kBold : Font::kSmall,
                   .align = Align::kCentre});
    }
  }

  // "rank 37"; for several "8 ranks of node-5".
  [[nodiscard]] std::string name_of_culprits(const std::vector<size_t>& ranks) const {
    const RankModel& first = model_.ranks[ranks.front()];
    if (ranks.size() == 1) return say("rank {}", first.rank);
    const bool one_host =
        std::ranges::all_of(ranks, [&](size_t r) { return model_.ranks[r].host == first.host; });
    return one_host ? say("{} ranks of {}", ranks.size(), first.host)
                    : say("{} culprits", ranks.size());
  }

  // Names on the left, "stage 2 · tensor 5"; on the right the waits of the row's communicator.
  void paint_rows() {
    const std::vector<int64_t>& waits = waits_[shape_.across];
    const int64_t most =
        std::max<int64_t>(waits.empty() ? 1 : *std::ranges::max_element(waits), values_.high_ns);
    if (!waits.empty()) {
      list().text({grid_.x + grid_.w + 10, grid_.y - kTopologyAxisHeight, kLineWaitWidth - 10,
                   kTopologyAxisHeight},
                  say("waited in {}, per rank and step", line_title_of(axes_[shape_.across].role)),
                  {.role = Role::kTextFaint, .font = Font::kSmall});
    }
    const auto guilty = [this](size_t row) { return guilty_row_.contains(row); };
    const auto chosen = [this](size_t row) { return chosen_row_.contains(row); };
    const std::vector<size_t> first_of_row = first_ranks();
    for (const size_t row :
         labelled_places(shape_.rows, grid_.h, kTopologyLabelled,
                         [&](size_t row) { return guilty(row) || chosen(row); })) {
      const size_t rank = first_of_row[row];
      const int middle = (row_top(row) + cell_box(rank).y + cell_box(rank).h) / 2;
      const Box label{kTopologyMargin, middle - kTopologyLabelled / 2, kTopologyLabelWidth - 10,
                      kTopologyLabelled};
      list().text(
          label, elided(row_name(rank), label.w, Font::kBold, measure_),
          {.role = guilty(row) ? Role::kProblem : (chosen(row) ? Role::kAccent : Role::kTextDim),
           .font = guilty(row) || chosen(row) ? Font::kBold : Font::kSmall,
           .align = Align::kRight});
      if (waits.empty()) continue;
      const size_t line = axes_[shape_.across].line[rank];
      const Box right{grid_.x + grid_.w + 10, label.y, kLineWaitWidth - 10, kTopologyLabelled};
      const auto bar = static_cast<int>(waits[line] * kLineWaitBar / most);
      list().rect({right.x, middle - 4, std::max(bar, 1), 8},
                  role_of(analyzer::Category::kExposedWait), {}, 110);
      list().text({right.x + kLineWaitBar + 6, right.y, right.w - kLineWaitBar - 6, right.h},
                  fmt::format("{}  {}", wait_text(waits[line]), axes_[shape_.across].names[line]),
                  {.role = Role::kText, .font = Font::kSmall});
      add_link(right, shape_.across, line);
    }
  }

  [[nodiscard]] std::vector<size_t> first_ranks() const {
    std::vector<size_t> first(shape_.rows, SIZE_MAX);
    for (size_t r = 0; r < count(); ++r) first[rows_[r]] = std::min(first[rows_[r]], r);
    return first;
  }

  [[nodiscard]] std::string row_name(size_t rank) const {
    std::string name;
    for (const size_t a : shape_.down) {
      if (!name.empty()) name += " · ";
      name += fmt::format("{} {}", title_of(axes_[a].role), axes_[a].at[rank]);
    }
    return name.empty() ? say("all ranks") : name;
  }

  // A click selects the ranks of a line. The timeline does not change: they can be thousands.
  void add_link(Box box, size_t axis, size_t line) {
    panel_.links.push_back({box, [&on = selecting_, &model = model_, axis, line] {
                              Selection ranks;
                              ranks.ranks = members_of(model, axis, line);
                              on.set(std::move(ranks));
                            }});
  }

  // Below each block, by column, the waits of its vertical communicators.
  void paint_strips() {
    if (shape_.down.empty() || waits_[shape_.down.back()].empty()) return;
    const size_t axis = shape_.down.back();
    const std::vector<int64_t>& waits = waits_[axis];
    const int64_t most = std::max(*std::ranges::max_element(waits), values_.high_ns);
    for (size_t r = 0; r < count(); ++r) {
      if (axes_[axis].at[r] != 0) continue;
      const size_t block = rows_[r] / shape_.rows_of_block;
      const Box cell = cell_box(r);
      const Box strip{cell.x, row_end(block) + 3, cell.w, kStripOfWaits - 2};
      const double share =
          most <= 0 ? 0
                    : static_cast<double>(waits[axes_[axis].line[r]]) / static_cast<double>(most);
      list().rect(strip, role_of(analyzer::Category::kExposedWait), {},
                  static_cast<uint8_t>(255 - level_of_share(share)));
      add_link(strip, axis, axes_[axis].line[r]);
    }
    list().text({kTopologyMargin, row_end(0), kTopologyLabelWidth - 10, kStripOfWaits + 4},
                say("waited in {}", line_title_of(axes_[axis].role)),
                {.role = Role::kTextFaint, .font = Font::kSmall, .align = Align::kRight});
  }

  // For each axis how long its communicators are waited in, and the longest wait.
  void paint_lines() {
    if (std::ranges::all_of(waits_, &std::vector<int64_t>::empty)) return;
    bottom_ += 4;
    draw_heads(kLineColumns, {kTopologyMargin, bottom_}, kLineHeight, list());
    bottom_ += kLineHeight;
    list().line({kTopologyMargin, bottom_ - 1},
                {kTopologyMargin + width_of(kLineColumns), bottom_ - 1}, Role::kBorder);
    for (size_t a = 0; a < axes_.size(); ++a) {
      const GridAxis& axis = axes_[a];
      if (waits_[a].empty()) continue;
      std::vector<size_t> by_wait(waits_[a].size());
      std::iota(by_wait.begin(), by_wait.end(), 0U);
      std::ranges::stable_sort(by_wait, {}, [&](size_t line) { return waits_[a][line]; });
      const size_t worst = by_wait.back();
      const std::vector<int> ranks = members_of(model_, a, worst);
      const std::array<std::string, kLineColumns.size()> cells = {
          std::string(line_title_of(axis.role)),
          format_count(static_cast<int64_t>(waits_[a].size())),
          std::to_string(axis.size),
          wait_text(waits_[a][by_wait[(by_wait.size() - 1) / 2]]),
          wait_text(waits_[a][worst]),
          say("{}, ranks {} to {}", axis.names[worst], ranks.front(), ranks.back())};
      draw_cells(kLineColumns, {kTopologyMargin, bottom_}, cells, measure_, list());
      add_link({kTopologyMargin, bottom_, width_of(kLineColumns), kLineHeight}, a, worst);
      bottom_ += kLineHeight;
    }
  }

  const Model& model_;
  const std::vector<GridAxis>& axes_;
  GridFigures& figures_;
  const GridValues& values_;
  const LineWaits& waits_;
  Selecting& selecting_;
  int width_;
  int height_;
  const TextMeasure& measure_;
  const GridShape shape_{axes_};         // only if there are axes
  std::unordered_set<size_t> culprits_;  // positions in Model::ranks
  std::vector<size_t> rows_;             // by rank
  std::unordered_set<size_t> guilty_row_;
  std::unordered_set<size_t> chosen_row_;
  std::unordered_set<size_t> chosen_column_;
  std::map<size_t, std::vector<size_t>> guilty_column_;  // including its culprits
  Box grid_;                                             // excluding gaps between blocks
  int bottom_ = 0;
  Panel panel_;
};

}  // namespace

Panel draw_topology_page(const Model& model, GridFigures& figures, Selecting& selecting, int width,
                         int height, const TextMeasure& measure) {
  return TopologyPainter(model, figures, selecting, width, height, measure).paint();
}

}  // namespace dprof::view
