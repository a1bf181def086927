// SPDX-License-Identifier: Apache-2.0
#include "gui/html/pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/render/layout.h"
#include "analyzer/render/mean_step.h"
#include "base/format.h"
#include "gui/html/svg.h"
#include "gui/view/draw_session.h"
#include "gui/view/pages/heatmap_page.h"
#include "gui/view/pages/matrix_page.h"
#include "gui/view/pages/memory_page.h"
#include "gui/view/timeline/timeline_view.h"

namespace dprof::html {
namespace {

using analyzer::Category;
using view::Align;
using view::Box;
using view::DrawList;
using view::Font;
using view::Model;
using view::Role;
using view::Session;
using view::StepMatrix;

constexpr int kPictureWidth = 1080;
constexpr int kTracksWidth = 224;
constexpr int kOverlapLabel = 120;
constexpr size_t kMostTimelineRanks = 8;
constexpr size_t kMostMemoryRanks = 12;
constexpr size_t kMostOverlapRanks = 16;
constexpr int kHighestMap = 512;  // of ranks × steps, without its margins
constexpr int kMapRow = 24;       // of a rank there, if there is room
constexpr int kAroundMap = 140;
constexpr int kMatrixHeight = 620;

// The position of a rank in a matrix's rows.
size_t row_of(const StepMatrix& matrix, size_t rank) {
  return static_cast<size_t>(std::ranges::find(matrix.ranks, rank) - matrix.ranks.begin());
}

// Positions of the ordinary steady steps in a matrix.
std::vector<size_t> usual_steps(const Model& model, const StepMatrix& matrix) {
  std::vector<size_t> usual;
  if (!model.report.run.steps) return usual;
  const analyzer::StepsInfo& info = *model.report.run.steps;
  for (size_t s = 0; s < matrix.steps.size(); ++s) {
    const int64_t step = matrix.steps[s];
    const bool outer = std::ranges::count(info.outer, step, &analyzer::OuterEvent::step) > 0;
    if (step >= info.first_steady && step <= info.last_steady && !outer) usual.push_back(s);
  }
  return usual;
}

// The first rank that the report names.
std::optional<size_t> named_rank(const Model& model) {
  const analyzer::Report& report = model.report;
  for (const analyzer::Straggler& straggler :
       report.stragglers.value_or(std::vector<analyzer::Straggler>())) {
    const auto index =
        straggler.rank ? model.index_of_rank(*straggler.rank) : std::optional<size_t>();
    if (index) return index;
  }
  for (const analyzer::Finding& finding : model.findings()) {
    if (finding.ranks.size() == 1 || (!finding.ranks.empty() && model.ranks.size() <= 2)) {
      if (const auto index = model.index_of_rank(finding.ranks.front())) return index;
    }
  }
  return std::nullopt;
}

// The run's steps by length, over all ranks.
class StepLengths {
 public:
  explicit StepLengths(const Model& model)
      : matrix_(view::step_matrix(model, view::Metric::kStepTime, view::RankOrder::kByRank)),
        usual_(usual_steps(model, matrix_)) {
    std::ranges::stable_sort(usual_, {}, [this](size_t s) { return matrix_.step_mean_ns[s]; });
  }

  [[nodiscard]] bool known() const { return usual_.size() > 1; }
  [[nodiscard]] size_t shortest() const { return usual_.front(); }
  [[nodiscard]] size_t longest() const { return usual_.back(); }
  [[nodiscard]] int64_t index_of(size_t step) const { return matrix_.steps[step]; }
  [[nodiscard]] std::string text_of(size_t step) const {
    return format_ms({matrix_.step_mean_ns[step]});
  }

 private:
  StepMatrix matrix_;
  std::vector<size_t> usual_;  // the shortest first
};

// A rank's own delay by step index, for ordinary steps.
std::map<int64_t, int64_t> own_delays_of(const Model& model, size_t rank) {
  const StepMatrix matrix =
      view::step_matrix(model, view::Metric::kOwnDelay, view::RankOrder::kByRank);
  const size_t row = row_of(matrix, rank);
  std::map<int64_t, int64_t> delays;
  if (row == matrix.ranks.size()) return delays;
  for (const size_t step : usual_steps(model, matrix)) {
    if (matrix.at(row, step) != StepMatrix::kUnknown)
      delays[matrix.steps[step]] = matrix.at(row, step);
  }
  return delays;
}

// The rank, and others evenly spread, in rank order.
std::vector<size_t> ranks_beside(size_t rank, size_t all) {
  std::set<size_t> chosen{rank};
  const size_t most = std::min(all, kMostTimelineRanks);
  for (size_t i = 0; i < all && chosen.size() < most; ++i)
    chosen.insert((rank + i * std::max<size_t>(all / most, 1)) % all);
  return {chosen.begin(), chosen.end()};
}

// Only these ranks, unchanged: rows of the timeline refer to them.
void keep_ranks(Model& model, const std::vector<size_t>& kept) {
  std::vector<view::RankModel> ranks;
  for (const size_t index : kept) ranks.push_back(std::move(model.ranks[index]));
  model.ranks = std::move(ranks);
}

std::optional<Interval> window_of(const Model& model, int64_t step) {
  const auto index = model.index_of_step(step);
  return index ? std::optional(model.steps[*index].window) : std::nullopt;
}

// Ruler and rows with their names, of `range`.
std::string timeline_svg(Session& session, Interval range, int64_t step, std::string_view about) {
  const PageTextMeasure measure;
  constexpr int kRowsWidth = kPictureWidth - kTracksWidth;
  const int height = session.tracks.layout().height;
  session.viewport.resize(kRowsWidth, height);
  session.tracks.set_height(height);
  session.tracks.scroll_to_top();
  session.viewport.show(range);
  view::Selection selection;
  selection.step = step;
  session.selecting.set(selection);
  DrawList list;
  list.rect({0, 0, kTracksWidth, view::kHeaderHeight}, Role::kWindow);
  list.append(draw_tracks(session, kTracksWidth, height, measure), {0, view::kHeaderHeight});
  list.clip({kTracksWidth, 0, kRowsWidth, view::kHeaderHeight + height});
  list.append(draw_header(session, kRowsWidth, measure), {kTracksWidth, 0});
  list.append(draw_rows(session, kRowsWidth, height, measure), {kTracksWidth, view::kHeaderHeight});
  list.unclip();
  list.line({kTracksWidth, 0}, {kTracksWidth, view::kHeaderHeight + height}, Role::kBorder);
  return to_svg(list, {0, 0, kPictureWidth, view::kHeaderHeight + height}, about);
}

// The ranks with the largest peaks, in rank order.
template <typename One, typename Peak>
void keep_largest(std::vector<One>& all, const Peak& peak) {
  if (all.size() <= kMostMemoryRanks) return;
  std::ranges::stable_sort(all, std::greater(), peak);
  all.resize(kMostMemoryRanks);
  std::ranges::stable_sort(all, {}, &One::rank);
}

std::string some_of(size_t shown, size_t all, std::string_view which) {
  if (shown >= all) return {};
  return fmt::format(" The {} of {} ranks with {}; the other {} are not drawn.", shown,
                     format_count(static_cast<int64_t>(all)), which,
                     format_count(static_cast<int64_t>(all - shown)));
}

// A line of the overlap picture: a rank's communication per step, on the scale of the maximum.
void draw_overlap(const analyzer::RankOverlap& rank, int y, double pixels_per_ns,
                  const std::string& figure, DrawList& list) {
  constexpr int kBarHeight = 16;
  list.text({16, y, kOverlapLabel - 32, 24}, fmt::format("rank {}", rank.rank), {});
  int x = kOverlapLabel;
  const auto part = [&](int64_t ns, Category category) {
    const auto wide = static_cast<int>(static_cast<double>(ns) * pixels_per_ns);
    if (wide > 0) draw_category({x, y + 4, wide, kBarHeight}, category, list);
    x += wide;
  };
  part(rank.hidden_ns, Category::kOverlapped);
  part(rank.exposed_transfer_ns, Category::kExposedTransfer);
  part(rank.exposed_wait_ns, Category::kExposedWait);
  list.text({x + 10, y, 260, 24}, figure, {.role = Role::kTextDim, .font = Font::kSmall});
}

}  // namespace

Picture steps_picture(const std::shared_ptr<const Model>& model) {
  if (model->steps.empty() || model->ranks.size() < 2) return {};
  Session session;
  session.open(model);
  if (std::ranges::all_of(session.steps.matrix().ns,
                          [](int64_t ns) { return ns == StepMatrix::kUnknown; }))
    session.steps.show_metric(view::Metric::kStepTime);
  const StepMatrix& matrix = session.steps.matrix();
  const int rows = static_cast<int>(model->ranks.size());
  const int height = std::min(kHighestMap, rows * kMapRow) + kAroundMap;
  const view::HeatmapPage page = view::draw_heatmap(
      *model, session.steps, {}, kPictureWidth, height, PageTextMeasure(), view::PageUse::kReport);
  if (page.map.w == 0) return {};
  std::string caption =
      fmt::format("{} by {}: the stronger the colour, the more.",
                  analyzer::plural(static_cast<int64_t>(matrix.ranks.size()), "rank"),
                  analyzer::plural(static_cast<int64_t>(matrix.steps.size()), "step"));
  if (page.map.h < rows || page.map.w < static_cast<int>(matrix.steps.size()))
    caption += " Where several share a pixel, it shows the highest.";
  return {"Ranks × steps", caption, to_svg(page.list, {0, 0, kPictureWidth, height}, caption)};
}

Picture waits_picture(const std::shared_ptr<const Model>& model) {
  if (model->ranks.size() < 2) return {};
  Session session;
  session.open(model);
  if (session.pairs.map().cells.empty()) return {};
  const int rows = static_cast<int>(session.pairs.map().ranks.size());
  const int height = std::clamp(rows * 76 + 110, 200, kMatrixHeight);
  const view::Panel panel = view::draw_matrix_page(*model, session.pairs, {}, kPictureWidth, height,
                                                   0, PageTextMeasure(), view::PageUse::kReport);
  std::string caption = "Over the whole run, in all collectives.";
  if (rows > kMatrixHeight) caption += " Where several pairs share a pixel, it shows the highest.";
  return {"Who waited for whom", caption,
          to_svg(panel.list, {0, 0, kPictureWidth, std::max(panel.height, 1)}, caption)};
}

Picture memory_picture(const std::shared_ptr<Model>& model) {
  if (!model->report.memory) return {};
  analyzer::Memory& memory = *model->report.memory;
  const size_t all = std::max(memory.per_rank.size(), memory.host.size());
  if (all == 0) return {};
  keep_largest(memory.per_rank, [](const analyzer::RankMemory& one) {
    return one.peak_allocated.value_or(one.peak_reserved.value_or(0));
  });
  keep_largest(memory.host, [](const analyzer::HostMemory& one) { return one.peak_resident; });
  Session session;
  session.open(model);
  session.viewport.show_all();
  session.selecting.clear();
  constexpr int kEndless = 100'000;
  const view::Panel panel =
      view::draw_memory_page(*model, session.viewport, session.selecting, kPictureWidth, kEndless,
                             0, PageTextMeasure(), view::PageUse::kReport);
  if (panel.height <= 0) return {};
  const std::string caption =
      "Over the whole run." + some_of(std::min(all, kMostMemoryRanks), all, "the largest peaks");
  return {"Memory over time", caption,
          to_svg(panel.list, {0, 0, kPictureWidth, panel.height}, caption)};
}

Picture overlap_picture(const analyzer::Report& report) {
  const std::optional<int64_t> steps = analyzer::steady_steps(report);
  if (!report.overlap || !steps || *steps == 0) return {};
  std::vector<analyzer::RankOverlap> ranks = report.overlap->per_rank;
  const size_t all = ranks.size();
  const auto exposed = [](const analyzer::RankOverlap& rank) {
    return rank.exposed_wait_ns + rank.exposed_transfer_ns;
  };
  if (all > kMostOverlapRanks) {
    std::ranges::stable_sort(ranks, std::greater(), exposed);
    ranks.resize(kMostOverlapRanks);
  }
  int64_t most = 0;
  for (const analyzer::RankOverlap& rank : ranks)
    most = std::max(most, rank.hidden_ns + exposed(rank));
  if (most == 0) return {};
  constexpr int kLine = 24;
  constexpr int kRoomForFigure = 280;
  const double scale = (kPictureWidth - kOverlapLabel - kRoomForFigure) / static_cast<double>(most);
  const analyzer::StepUnit unit = analyzer::unit_of(report);
  const auto per_step = [&](int64_t ns) {
    return unit.text(static_cast<double>(ns) / static_cast<double>(*steps));
  };
  const int height = static_cast<int>(ranks.size()) * kLine + 20;
  DrawList list;
  list.rect({0, 0, kPictureWidth, height}, Role::kCanvas);
  int y = 10;
  for (const analyzer::RankOverlap& rank : ranks) {
    draw_overlap(
        rank, y, scale,
        fmt::format("{} hidden, {} exposed", per_step(rank.hidden_ns), per_step(exposed(rank))),
        list);
    y += kLine;
  }
  const std::string caption =
      "Communication per step: hidden behind computation, or exposed: transfer, and waiting (hatched)." +
      some_of(ranks.size(), all, "the most exposed");
  return {"Overlap", caption, to_svg(list, {0, 0, kPictureWidth, height}, caption)};
}

std::optional<ShownSteps> shown_steps(const Model& model) {
  if (model.ranks.empty()) return std::nullopt;
  const StepLengths lengths(model);
  if (!lengths.known()) return std::nullopt;
  const std::optional<size_t> named = named_rank(model);
  ShownSteps shown{.rank = named.value_or(0),
                   .worst = lengths.index_of(lengths.longest()),
                   .good = lengths.index_of(lengths.shortest()),
                   .worst_caption = fmt::format("the longest steady step, {}",
                                                lengths.text_of(lengths.longest())),
                   .good_caption = fmt::format("the shortest steady step, {}",
                                               lengths.text_of(lengths.shortest()))};
  if (!named) return shown;
  const std::map<int64_t, int64_t> delays = own_delays_of(model, *named);
  const auto worst = std::ranges::max_element(
      delays, {}, [](const std::pair<const int64_t, int64_t>& one) { return one.second; });
  if (worst == delays.end() || worst->second <= 0 || worst->first == shown.good) return shown;
  const int number = model.ranks[*named].rank;
  shown.worst = worst->first;
  shown.title = "A bad step beside a good one";
  shown.worst_caption = fmt::format("rank {} is {} late by its own doing, the most of all steps",
                                    number, format_ms({worst->second}));
  const auto there = delays.find(shown.good);
  if (there != delays.end() && there->second * 2 > worst->second)
    shown.good_caption += fmt::format("; rank {} is late there, too", number);
  return shown;
}

SideBySide timeline_pictures(const std::shared_ptr<Model>& model, const ShownSteps& shown) {
  const std::optional<Interval> worst = window_of(*model, shown.worst);
  const std::optional<Interval> good = window_of(*model, shown.good);
  if (!worst || !good) return {};
  // A rank that cannot be read is shown without its events.
  if (!model->ranks[shown.rank].events->loaded) {
    if (const Result<view::SharedEvents> events = load_events(*model, shown.rank); events.ok())
      model->ranks[shown.rank].events = *events;
  }
  const int number = model->ranks[shown.rank].rank;
  const std::vector<size_t> kept = ranks_beside(shown.rank, model->ranks.size());
  const size_t all = model->ranks.size();
  keep_ranks(*model, kept);
  Session session;
  session.open(model);
  view::Arrangement arrangement;
  if (model->rank(number)->events->loaded) arrangement.unfolded_ranks = {number};
  session.tracks.arrange(arrangement);
  const DurationNs length{std::max(worst->length().ns, good->length().ns)};
  const DurationNs margin{length.ns / 40};
  const auto range_of = [&](Interval step) {
    return Interval{step.begin - margin, step.begin + length + margin};
  };
  std::string which;
  if (kept.size() < all) {
    which = fmt::format(" Rank {} and {} others, spread evenly over {} ranks.", number,
                        kept.size() - 1, format_count(static_cast<int64_t>(all)));
  }
  const auto picture = [&](int64_t step, Interval window, const std::string& said) {
    std::string caption = said + "." + which;
    std::string svg = timeline_svg(session, range_of(window), step, caption);
    return Picture{fmt::format("Step {}", step), std::move(caption), std::move(svg)};
  };
  return {picture(shown.worst, *worst, shown.worst_caption),
          picture(shown.good, *good, shown.good_caption)};
}

}  // namespace dprof::html
