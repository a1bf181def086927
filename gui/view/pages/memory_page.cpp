// SPDX-License-Identifier: Apache-2.0
#include "gui/view/pages/memory_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "analyzer/render/layout.h"
#include "analyzer/render/sections.h"
#include "base/format.h"
#include "gui/view/drawing/columns.h"
#include "gui/view/drawing/texts.h"
#include "gui/view/figures/notable_ranks.h"

namespace dprof::view {
namespace {

using analyzer::Category;
using analyzer::MemoryUse;
using analyzer::RankMemory;

constexpr int kMemoryMargin = 24;
constexpr int kMemoryRankLine = 44;
constexpr int kCurveHeight = 36;
constexpr int kBarHeight = 17;
constexpr int kMemoryLabelWidth = 200;
constexpr int kMemoryFigureWidth = 236;
constexpr int kMemoryGap = 16;    // between a rank's curve and its bar
constexpr int kStepLinkFrom = 3;  // pixels
constexpr int kMemoryLegendWidth = 190;

constexpr std::array<Column, 6> kHolderColumns = {{
    {english("what lived there"), 170, false},
    {english("bytes"), 110, true},
    {english("of the peak"), 90, true},
    {english("blocks"), 90, true},
    {english("allocated in"), 130, false},
    {english("by"), 460, false},
}};

// Training state in the colours of the phases that need it.
Role role_of_use(MemoryUse use) {
  switch (use) {
    case MemoryUse::kParameter:
      return role_of(Category::kBackward);
    case MemoryUse::kGradient:
      return role_of(Category::kForward);
    case MemoryUse::kBucket:
      return role_of(Category::kExposedTransfer);
    case MemoryUse::kOptimizerState:
      return role_of(Category::kOptimizer);
    case MemoryUse::kActivation:
      return role_of(Category::kAllocator);
    case MemoryUse::kInput:
      return role_of(Category::kInputWait);
    case MemoryUse::kTemporary:
      return role_of(Category::kOtherCompute);
    case MemoryUse::kAutograd:
      return role_of(Category::kSyncBubble);
    case MemoryUse::kPersistent:
      return role_of(Category::kProfiler);
    case MemoryUse::kUnknown:
      break;
  }
  return role_of(Category::kHost);
}

int64_t extent_of(const RankMemory& memory) {
  return std::max(memory.peak_allocated.value_or(0), memory.peak_reserved.value_or(0));
}

// "12.3 GB of 14.0 GB reserved".
std::string peak_figure(const RankMemory& memory) {
  std::string text =
      memory.peak_allocated ? format_bytes(*memory.peak_allocated) : std::string("–");
  if (memory.peak_reserved) text += say(" of {} reserved", format_bytes(*memory.peak_reserved));
  return text;
}

// "rank 5 · device 0 of 85.9 GB".
std::string label_of(const RankMemory& memory) {
  std::string text = say("rank {}", memory.rank);
  if (memory.device < 0) return text + say(" · host");
  text += say(" · device {}", memory.device);
  if (memory.device_total) text += say(" of {}", format_bytes(*memory.device_total));
  return text;
}

class MemoryPainter {
 public:
  MemoryPainter(const Model& model, const Viewport& viewport, Selecting& selecting, int width,
                int height, int top, const TextMeasure& measure, PageUse use)
      : model_(model),
        viewport_(viewport),
        selecting_(selecting),
        width_(width),
        height_(height),
        top_(top),
        measure_(measure),
        use_(use) {
    for (const Culprit& culprit : culprits_of(model)) culprits_.insert(culprit.rank);
  }

  Panel paint() && {
    const std::optional<analyzer::Memory>& memory = model_.report.memory;
    if (memory && use_ == PageUse::kReport) {
      paint_peaks(*memory);
      paint_resident(*memory);
    } else if (memory) {
      for (const std::string& trouble : analyzer::memory_troubles(*memory))
        sentence(trouble, Role::kProblem);
      paint_peaks(*memory);
      paint_holders(*memory);
      paint_resident(*memory);
      heading(say("Besides"));
      for (const std::string& remark : analyzer::memory_remarks(*memory))
        sentence(remark, Role::kText);
    } else {
      sentence(
          say("No memory data: no allocator was recorded, and resident memory was not sampled. "
              "`dprof doctor` says what can be recorded here."),
          Role::kTextDim);
    }
    panel_.height = y_ + kMemoryMargin;
    panel_.list.rect({0, 0, width_, std::max(height_, panel_.height)}, Role::kCanvas);
    panel_.list.append(body_);
    return std::move(panel_);
  }

 private:
  [[nodiscard]] int room() const { return width_ - 2 * kMemoryMargin; }

  void sentence(const std::string& text, Role role) {
    y_ = draw_wrapped(analyzer::printable(text), {kMemoryMargin, y_}, room(), kLineHeight,
                      {.role = role}, measure_, body_);
  }

  void heading(const std::string& text) {
    y_ += y_ > kMemoryMargin ? 18 : 0;
    body_.text({kMemoryMargin, y_, room(), kLineHeight},
               elided(text, room(), Font::kTitle, measure_), {.font = Font::kTitle});
    y_ += kLineHeight + 6;
  }

  [[nodiscard]] bool in_view(int y, int height) const {
    return y + height > top_ && y < top_ + height_;
  }

  // The positions of a rank's curve and bar in its line.
  [[nodiscard]] Box curve_place(bool with_bar) const {
    const int whole = std::max(room() - kMemoryLabelWidth - kMemoryFigureWidth, 0);
    return {kMemoryMargin + kMemoryLabelWidth, y_ + (kMemoryRankLine - kCurveHeight) / 2,
            with_bar ? whole * 3 / 5 - kMemoryGap : whole - kMemoryGap, kCurveHeight};
  }
  [[nodiscard]] Box bar_place(bool with_curve) const {
    const int whole = std::max(room() - kMemoryLabelWidth - kMemoryFigureWidth, 0);
    const int left = with_curve ? whole * 3 / 5 : 0;
    return {kMemoryMargin + kMemoryLabelWidth + left, y_ + (kMemoryRankLine - kBarHeight) / 2,
            whole - left, kBarHeight};
  }

  // Name and figure of a rank, and what `inside` paints; the rest of the line links to it.
  template <typename Inside>
  void rank_line(int rank, const std::string& label, const std::string& figure,
                 const Inside& inside) {
    const Box whole{kMemoryMargin, y_, room(), kMemoryRankLine};
    if (!in_view(y_, kMemoryRankLine)) {
      y_ += kMemoryRankLine;
      return;
    }
    if (selecting_.selection().has_rank(rank)) body_.rect(whole, Role::kAccentSoft, {}, 0, 4);
    const bool guilty = has_many_ranks(model_) && culprits_.contains(rank);
    body_.text({whole.x + 8, y_, kMemoryLabelWidth - 12, kMemoryRankLine},
               elided(label, kMemoryLabelWidth - 12, Font::kBody, measure_),
               {.role = guilty ? Role::kProblem : Role::kText,
                .font = guilty ? Font::kBold : Font::kBody});
    body_.text(
        {whole.x + whole.w - kMemoryFigureWidth, y_, kMemoryFigureWidth - 8, kMemoryRankLine},
        elided(figure, kMemoryFigureWidth - 16, Font::kMono, measure_),
        {.font = Font::kMono, .align = Align::kRight});
    inside();
    y_ += kMemoryRankLine;
    panel_.links.push_back(
        {whole, [&on = selecting_, rank] { on.select_rank(rank); }, /*shows=*/true});
  }

  [[nodiscard]] const MemoryTrack* track_of(int rank, int device, bool resident) const {
    const RankModel* model = model_.rank(rank);
    if (model == nullptr) return nullptr;
    const auto of = std::ranges::find_if(model->memory, [&](const MemoryTrack& track) {
      return track.curve.device == device && is_resident(track.curve) == resident;
    });
    return of == model->memory.end() ? nullptr : &*of;
  }

  // The whole run's time axis above the curves.
  void paint_axis(int width, std::string_view beside) {
    const TimeScale scale(viewport_.whole(), std::max(width, 1));
    for (const Tick& tick : ruler_ticks(scale, 110)) {
      const int label_width = measure_.width(tick.label, Font::kSmall) + 4;
      if (tick.x < 0 || tick.x + label_width > width) continue;
      body_.text({kMemoryMargin + kMemoryLabelWidth + tick.x, y_, label_width, kLineHeight},
                 tick.label, {.role = Role::kTextDim, .font = Font::kSmall});
    }
    const Box bar = bar_place(true);
    if (!beside.empty())
      body_.text({bar.x, y_, bar.w, kLineHeight}, std::string(beside),
                 {.role = Role::kTextDim, .font = Font::kSmall});
    y_ += kLineHeight;
  }

  // A step in it links to that step, if steps are wide enough.
  void paint_curve(const MemoryTrack& track, int rank, Box area, int64_t full) {
    const TimeScale scale(viewport_.whole(), std::max(area.w, 1));
    body_.rect(area, Role::kLaneBackground);
    const int x0 = std::clamp(scale.pixel_of(viewport_.range().begin), 0, area.w);
    const int x1 = std::clamp(scale.pixel_of(viewport_.range().end), 0, area.w);
    if (x1 - x0 < area.w)
      body_.rect({area.x + x0, area.y, std::max(x1 - x0, 1), area.h}, Role::kAccentSoft);
    draw_held(track.curve.levels, scale, area, full, body_);
    for (const analyzer::StepWindow& step : model_.rank(rank)->steps) {
      const int begin = scale.pixel_of(step.window.begin);
      const int end = scale.pixel_of(step.window.end);
      if (end - begin < kStepLinkFrom) continue;
      panel_.links.push_back(
          {{area.x + begin, area.y, end - begin, area.h},
           [&on = selecting_, rank, index = step.index] { on.select_cell(rank, index); },
           /*shows=*/true});
    }
  }

  // Of many ranks: those with the most, the least and the median memory, other notable ranks, and
  // the selected ones; `of` holds rank and bytes.
  template <typename One, typename Of>
  void keep_shown(std::vector<One>& all, const Of& of) const {
    if (use_ == PageUse::kReport || !has_many_ranks(model_) || all.size() <= kMostShownRanks)
      return;
    std::unordered_set<int> wanted;
    for (const NotableRank& one : notable_ranks(model_)) wanted.insert(one.rank);
    std::vector<One> by_size = all;
    std::ranges::stable_sort(by_size, {}, [&](const One& one) { return of(one).second; });
    for (const One& one : {by_size.front(), by_size[by_size.size() / 2], by_size.back()})
      wanted.insert(of(one).first);
    for (const int rank : selecting_.selection().ranks) {
      if (wanted.size() < kMostShownRanks) wanted.insert(rank);
    }
    std::erase_if(all, [&](const One& one) { return !wanted.contains(of(one).first); });
  }

  void say_left_out(size_t shown, size_t all) {
    if (shown == all) return;
    sentence(say("{} of {}: most, median and least memory, ranks worth a look, and the selection.",
                 shown, format_count(static_cast<int64_t>(all))),
             Role::kTextDim);
  }

  void paint_peaks(const analyzer::Memory& memory) {
    std::vector<const RankMemory*> known;
    int64_t most = 0;
    bool curves = false;
    for (const RankMemory& one : memory.per_rank) {
      const MemoryTrack* track = track_of(one.rank, one.device, /*resident=*/false);
      if (!one.peak_allocated && !one.peak_reserved && track == nullptr) continue;
      known.push_back(&one);
      most = std::max({most, extent_of(one), track == nullptr ? 0 : track->most});
      curves = curves || track != nullptr;
    }
    if (known.empty() || most <= 0) return;
    const size_t all = known.size();
    keep_shown(known, [](const RankMemory* one) { return std::pair(one->rank, extent_of(*one)); });
    const std::string extent = format_bytes(most);
    heading(curves ? say("What each rank held over the run and at its peak, on one scale up to {}",
                         extent)
                   : say("What each rank held at its peak, on one scale up to {}", extent));
    say_left_out(known.size(), all);
    if (curves) paint_axis(curve_place(true).w, say("at its peak"));
    for (const RankMemory* one : known) {
      rank_line(one->rank, label_of(*one), peak_figure(*one), [&] {
        const MemoryTrack* track = track_of(one->rank, one->device, /*resident=*/false);
        if (track != nullptr) paint_curve(*track, one->rank, curve_place(true), most);
        paint_peak(*one, bar_place(curves), most);
      });
    }
    paint_legend(known);
  }

  void paint_peak(const RankMemory& one, Box bar, int64_t most) {
    const auto pixels = [&](int64_t bytes) {
      return static_cast<int>(static_cast<double>(bytes) / static_cast<double>(most) * bar.w);
    };
    if (one.by_category) {
      int64_t below = 0;
      for (size_t use = 0; use < analyzer::kMemoryUses; ++use) {
        const int left = bar.x + pixels(below);
        below += (*one.by_category)[use];
        const int right = bar.x + pixels(below);
        if (right > left)
          body_.rect({left, bar.y, right - left, bar.h}, role_of_use(static_cast<MemoryUse>(use)));
      }
    } else if (one.peak_allocated) {
      body_.rect({bar.x, bar.y, pixels(*one.peak_allocated), bar.h},
                 role_of_use(MemoryUse::kUnknown));
    }
    if (one.peak_reserved)
      body_.frame({bar.x, bar.y, pixels(*one.peak_reserved), bar.h}, Role::kTextFaint);
  }

  void paint_legend(const std::vector<const RankMemory*>& known) {
    y_ += 8;
    const int columns = std::max(1, room() / kMemoryLegendWidth);
    int column = 0;
    for (size_t use = 0; use < analyzer::kMemoryUses; ++use) {
      const bool there = std::ranges::any_of(known, [&](const RankMemory* one) {
        return one->by_category && (*one->by_category)[use] > 0;
      });
      if (!there) continue;
      const int x = kMemoryMargin + column * kMemoryLegendWidth;
      body_.rect({x, y_ + 5, 12, 12}, role_of_use(static_cast<MemoryUse>(use)));
      body_.text({x + 20, y_, kMemoryLegendWidth - 24, kLineHeight},
                 std::string(analyzer::title_of(static_cast<MemoryUse>(use))));
      if (++column < columns) continue;
      column = 0;
      y_ += kLineHeight;
    }
    if (column > 0) y_ += kLineHeight;
  }

  // For the selected rank, else the one with the largest peak.
  [[nodiscard]] const RankMemory* explained(const analyzer::Memory& memory) const {
    for (const RankMemory& one : memory.per_rank) {
      if (selecting_.selection().has_rank(one.rank) && !one.at_peak.empty()) return &one;
    }
    return analyzer::largest_peak(memory);
  }

  void paint_holders(const analyzer::Memory& memory) {
    const RankMemory* peak = explained(memory);
    if (peak == nullptr || peak->at_peak.empty()) return;
    const std::string moment = analyzer::peak_moment(*peak);
    heading(say("What lived at the peak of rank {}{}", peak->rank,
                moment.empty() ? "" : fmt::format(" ({})", moment)));
    draw_heads(kHolderColumns, {kMemoryMargin, y_}, kLineHeight, body_);
    y_ += kLineHeight;
    body_.line({kMemoryMargin, y_ - 1}, {width_ - kMemoryMargin, y_ - 1}, Role::kBorder);
    const int64_t whole = std::max<int64_t>(peak->peak_allocated.value_or(1), 1);
    int64_t rest = whole;
    for (const analyzer::MemoryHolder& holder : peak->at_peak) {
      rest -= holder.bytes;
      holder_line(
          {std::string(analyzer::title_of(holder.use)), format_bytes(holder.bytes),
           format_share(static_cast<double>(holder.bytes) / static_cast<double>(whole)),
           format_count(holder.blocks), analyzer::printable(holder.phase),
           holder.site.empty() ? say("an unknown place") : analyzer::printable(holder.site)});
    }
    if (rest > 0) {
      holder_line({say("all else"), format_bytes(rest),
                   format_share(static_cast<double>(rest) / static_cast<double>(whole)), "", "",
                   ""});
    }
  }

  void holder_line(const std::array<std::string, kHolderColumns.size()>& cells) {
    draw_cells(kHolderColumns, {kMemoryMargin, y_}, cells, measure_, body_);
    y_ += kLineHeight;
  }

  void paint_resident(const analyzer::Memory& memory) {
    if (memory.host.empty()) return;
    int64_t most = 1;
    bool curves = false;
    for (const analyzer::HostMemory& host : memory.host) {
      const MemoryTrack* track = track_of(host.rank, -1, /*resident=*/true);
      most = std::max({most, host.peak_resident, track == nullptr ? 0 : track->most});
      curves = curves || track != nullptr;
    }
    const std::string extent = format_bytes(most);
    heading(curves
                ? say("Resident memory of each process over the run, on one scale up to {}", extent)
                : say("Resident memory of each process, on one scale up to {}", extent));
    std::vector<const analyzer::HostMemory*> shown;
    for (const analyzer::HostMemory& host : memory.host) shown.push_back(&host);
    keep_shown(shown, [](const analyzer::HostMemory* one) {
      return std::pair(one->rank, one->peak_resident);
    });
    say_left_out(shown.size(), memory.host.size());
    if (curves) paint_axis(curve_place(false).w, "");
    for (const analyzer::HostMemory* one : shown) {
      const analyzer::HostMemory& host = *one;
      std::string figure = format_bytes(host.peak_resident);
      if (host.first_steady && host.last_steady)
        figure = say("{} → {}, most {}", format_bytes(*host.first_steady),
                     format_bytes(*host.last_steady), figure);
      rank_line(host.rank, say("rank {}", host.rank), figure, [&] {
        const MemoryTrack* track = track_of(host.rank, -1, /*resident=*/true);
        if (track != nullptr) return paint_curve(*track, host.rank, curve_place(false), most);
        const Box bar = bar_place(false);
        const auto share = static_cast<double>(host.peak_resident) / static_cast<double>(most);
        body_.rect({bar.x, bar.y, static_cast<int>(share * bar.w), bar.h},
                   role_of(Category::kAllocator));
      });
    }
  }

  const Model& model_;
  const Viewport& viewport_;
  Selecting& selecting_;
  int width_;
  int height_;
  int top_;
  const TextMeasure& measure_;
  PageUse use_;
  std::unordered_set<int> culprits_;
  int y_ = kMemoryMargin;
  DrawList body_;
  Panel panel_;
};

}  // namespace

Panel draw_memory_page(const Model& model, const Viewport& viewport, Selecting& selecting,
                       int width, int height, int top, const TextMeasure& measure, PageUse use) {
  return MemoryPainter(model, viewport, selecting, width, height, top, measure, use).paint();
}

}  // namespace dprof::view
