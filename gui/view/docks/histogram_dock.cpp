// SPDX-License-Identifier: Apache-2.0
#include "gui/view/docks/histogram_dock.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/format.h"
#include "gui/view/drawing/columns.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/model/event_loading.h"
#include "gui/view/session/dock.h"

namespace dprof::view {
namespace {

constexpr int kHistogramTitleHeight = 30;
constexpr int kAxisHeight = 20;
constexpr int kGap = 28;           // between the bars and the table
constexpr size_t kMostRanks = 64;  // lines of the table

constexpr std::array<Column, 6> kHistogramColumns = {{
    {english("rank"), 60, true},
    {english("events"), 80, true},
    {english("median"), 92, true},
    {english("95 %"), 92, true},
    {english("longest"), 92, true},
    {english("in all"), 92, true},
}};

class HistogramPainter {
 public:
  HistogramPainter(const Model& model, const EventFigures& events, Selecting& selecting, int width,
                   int height, const TextMeasure& measure)
      : model_(model),
        events_(events),
        selecting_(selecting),
        durations_(events.durations()),
        width_(width),
        height_(height),
        measure_(measure) {}

  Panel paint() && {
    const size_t lines = std::min(durations_.by_rank.size(), kMostRanks) + 1;
    panel_.height = kHistogramTitleHeight + kLineHeight * (static_cast<int>(lines) + 2);
    DrawList& list = panel_.list;
    list.rect({0, 0, width_, std::max(height_, panel_.height)}, Role::kWindow);
    list.text({kDockMargin, 0, width_ - 2 * kDockMargin, kHistogramTitleHeight},
              elided(title(), width_ - 2 * kDockMargin, Font::kBody, measure_),
              {.role = Role::kTextDim});
    // The previous bars can be another name's.
    if (durations_.buckets.empty() || events_.is_counting_durations()) return std::move(panel_);
    paint_table();
    const int room = width_ - 2 * kDockMargin - width_of(kHistogramColumns) - kGap;
    constexpr int kLeastRoom = 120;
    if (room >= kLeastRoom) paint_bars({kDockMargin, kHistogramTitleHeight, room, bars_height()});
    return std::move(panel_);
  }

 private:
  [[nodiscard]] int bars_height() const {
    constexpr int kLeast = 80;
    return std::max(kLeast, height_ - kHistogramTitleHeight - kAxisHeight - 8);
  }

  [[nodiscard]] std::string title() const {
    const std::string name = selecting_.name();
    if (name.empty())
      return say(
          "Choose an event or a node of the flame graph, or search for a name, to see its durations on all ranks.");
    if (events_.is_counting_durations()) return name + say(": counting …");
    const std::string missing = without_events(model_);
    if (durations_.buckets.empty()) return say("{}: no event in this range{}", name, missing);
    const RankDurations& all = durations_.all;
    std::string text =
        say("{} · {} events on {} ranks · median {} · 95 % below {} · longest {}", name,
            format_count(all.count), durations_.by_rank.size(), format_duration({all.median_ns}),
            format_duration({all.p95_ns}), format_duration({all.longest_ns}));
    if (const std::optional<DurationRange>& chosen = selecting_.selection().durations)
      text += say(" · chosen {} to {}", format_duration({chosen->from_ns}),
                  format_duration({chosen->to_ns}));
    if (durations_.unfinished > 0)
      text += say(" · {} unfinished left out", format_count(durations_.unfinished));
    return text + missing;
  }

  // The bars of the chosen durations: [first, end).
  [[nodiscard]] std::pair<int, int> chosen_bars(DurationRange chosen) const {
    const auto& buckets = durations_.buckets;
    const auto first =
        std::ranges::lower_bound(buckets, chosen.from_ns, {}, &DurationBucket::from_ns);
    const auto end = std::ranges::upper_bound(buckets, chosen.to_ns, {}, &DurationBucket::from_ns);
    return {static_cast<int>(first - buckets.begin()), static_cast<int>(end - buckets.begin())};
  }

  // A drag over the bars chooses the durations that they count.
  void add_brush(Box area) {
    panel_.brush =
        Brush{area, [&on = selecting_, area, buckets = durations_.buckets](int from, int to) {
                const auto count = static_cast<int>(buckets.size());
                const auto bar = [&](int x) {
                  const int at = (x - area.x) * count / std::max(area.w, 1);
                  return static_cast<size_t>(std::clamp(at, 0, count - 1));
                };
                const DurationBucket& last = buckets[bar(to)];
                const bool open = bar(to) + 1 < buckets.size();
                on.select_durations(
                    DurationRange{buckets[bar(from)].from_ns, last.to_ns - (open ? 1 : 0)});
              }};
  }

  void paint_bars(Box area) {
    DrawList& list = panel_.list;
    const auto& buckets = durations_.buckets;
    if (const std::optional<DurationRange>& chosen = selecting_.selection().durations) {
      const auto [first, end] = chosen_bars(*chosen);
      const auto bars = static_cast<int>(buckets.size());
      const int left = area.x + first * area.w / bars;
      list.rect({left, area.y, area.x + end * area.w / bars - left, area.h}, Role::kAccentSoft);
    }
    add_brush(area);
    const int64_t most = std::ranges::max(buckets, {}, &DurationBucket::count).count;
    const auto count = static_cast<int>(buckets.size());
    const auto height_of = [&](int64_t events) {
      const int height = static_cast<int>(events * area.h / most);
      return events > 0 ? std::max(height, 2) : 0;
    };
    for (int b = 0; b < count; ++b) {
      const DurationBucket& bucket = buckets[static_cast<size_t>(b)];
      if (bucket.count == 0) continue;
      const int left = area.x + b * area.w / count;
      const int right = area.x + (b + 1) * area.w / count;
      const int height = height_of(bucket.count);
      const int bottom = area.y + area.h;
      const int bar = std::max(right - left - 1, 1);
      list.rect({left, bottom - height, bar, height}, Role::kUtilisation);
      if (bucket.of_chosen > 0) {
        const int part = height_of(bucket.of_chosen);
        list.rect({left, bottom - part, bar, part}, Role::kProblem);
      }
      panel_.links.push_back(
          {{left, area.y, right - left, area.h},
           [&on = selecting_, place = bucket.longest] { on.select_event(place); },
           /*shows=*/true});
    }
    list.line({area.x, area.y + area.h}, {area.x + area.w, area.y + area.h}, Role::kBorder);
    const Box axis{area.x, area.y + area.h + 2, area.w, kAxisHeight - 2};
    const TextStyle style{.role = Role::kTextDim, .font = Font::kSmall};
    list.text(axis, format_duration({buckets.front().from_ns}), style);
    list.text(axis, say("{} in the highest bar", format_count(most)),
              {.role = Role::kTextDim, .font = Font::kSmall, .align = Align::kCentre});
    list.text(axis, format_duration({buckets.back().to_ns}),
              {.role = Role::kTextDim, .font = Font::kSmall, .align = Align::kRight});
  }

  void paint_table() {
    const Point at{std::max(kDockMargin, width_ - kDockMargin - width_of(kHistogramColumns)),
                   kHistogramTitleHeight};
    panel_.width = std::max(width_, at.x + width_of(kHistogramColumns) + kDockMargin);
    draw_heads(kHistogramColumns, at, kLineHeight, panel_.list);
    int y = at.y + kLineHeight;
    paint_line(say("all"), durations_.all, {at.x, y}, Role::kText);
    for (size_t i = 0; i < std::min(durations_.by_rank.size(), kMostRanks); ++i) {
      y += kLineHeight;
      const RankDurations& of = durations_.by_rank[i];
      const bool chosen = selecting_.selection().has_rank(of.rank);
      paint_line(std::to_string(of.rank), of, {at.x, y}, chosen ? Role::kProblem : Role::kText);
    }
    if (durations_.by_rank.size() > kMostRanks) {
      panel_.list.text(
          {at.x, y + kLineHeight, width_of(kHistogramColumns), kLineHeight},
          say("… and {} ranks with shorter medians", durations_.by_rank.size() - kMostRanks),
          {.role = Role::kTextDim});
    }
  }

  void paint_line(const std::string& rank, const RankDurations& of, Point at, Role role) {
    const std::array<std::string, kHistogramColumns.size()> cells = {
        rank,
        format_count(of.count),
        format_duration({of.median_ns}),
        format_duration({of.p95_ns}),
        format_duration({of.longest_ns}),
        format_duration({of.total_ns})};
    draw_cells(kHistogramColumns, at, cells, measure_, panel_.list, role);
  }

  const Model& model_;
  const EventFigures& events_;
  Selecting& selecting_;
  const Durations& durations_;
  int width_;
  int height_;
  const TextMeasure& measure_;
  Panel panel_;
};

}  // namespace

Panel draw_histogram_dock(const Model& model, const EventFigures& events, Selecting& selecting,
                          int width, int height, const TextMeasure& measure) {
  return HistogramPainter(model, events, selecting, width, height, measure).paint();
}

}  // namespace dprof::view
