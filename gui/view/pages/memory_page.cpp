// SPDX-License-Identifier: Apache-2.0
#include "gui/view/pages/memory_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analyzer/report/render/layout.h"
#include "analyzer/report/render/memory_tables.h"
#include "base/format.h"
#include "gui/view/columns.h"

namespace dprof::view {
namespace {

using analyzer::Category;
using analyzer::MemoryUse;
using analyzer::RankMemory;

constexpr int kMargin = 24;
constexpr int kBarLine = 26;
constexpr int kBarHeight = 17;
constexpr int kLabelWidth = 230;
constexpr int kFigureWidth = 230;
constexpr int kLegendWidth = 190;

constexpr std::array<Column, 6> kHolderColumns = {{
    {"what lived there", 170, false},
    {"bytes", 110, true},
    {"of the peak", 90, true},
    {"blocks", 90, true},
    {"allocated in", 130, false},
    {"by", 460, false},
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
std::string figure_of(const RankMemory& memory) {
  std::string text =
      memory.peak_allocated ? format_bytes(*memory.peak_allocated) : std::string("–");
  if (memory.peak_reserved)
    text += fmt::format(" of {} reserved", format_bytes(*memory.peak_reserved));
  return text;
}

// "rank 5 · device 0 of 85.9 GB".
std::string label_of(const RankMemory& memory) {
  std::string text = fmt::format("rank {}", memory.rank);
  if (memory.device < 0) return text + " · host";
  text += fmt::format(" · device {}", memory.device);
  if (memory.device_total) text += fmt::format(" of {}", format_bytes(*memory.device_total));
  return text;
}

class Painter {
 public:
  Painter(const Session& session, int width, int height, const TextMeasure& measure)
      : session_(session), width_(width), height_(height), measure_(measure) {}

  Panel paint() && {
    const std::optional<analyzer::Memory>& memory = session_.model().report.memory;
    if (memory) {
      for (const std::string& trouble : analyzer::memory_troubles(*memory))
        sentence(trouble, Role::kProblem);
      paint_peaks(*memory);
      paint_holders(*memory);
      paint_resident(*memory);
      heading("Besides");
      for (const std::string& remark : analyzer::memory_remarks(*memory))
        sentence(remark, Role::kText);
    } else {
      sentence(
          "Nothing is known of memory: no allocator was listened to, and the recorder read no "
          "resident set. `dprof doctor` says what can be recorded here.",
          Role::kTextDim);
    }
    panel_.height = y_ + kMargin;
    panel_.list.rect({0, 0, width_, std::max(height_, panel_.height)}, Role::kCanvas);
    panel_.list.append(body_);
    return std::move(panel_);
  }

 private:
  [[nodiscard]] int room() const { return width_ - 2 * kMargin; }

  void sentence(const std::string& text, Role role) {
    for (std::string& part : wrapped(analyzer::printable(text), room(), Font::kBody, measure_)) {
      body_.text({kMargin, y_, room(), kLineHeight}, std::move(part), {.role = role});
      y_ += kLineHeight;
    }
  }

  void heading(const std::string& text) {
    y_ += y_ > kMargin ? 18 : 0;
    body_.text({kMargin, y_, room(), kLineHeight}, elided(text, room(), Font::kTitle, measure_),
               {.font = Font::kTitle});
    y_ += kLineHeight + 6;
  }

  // The line of a rank: its name, room for a bar, a figure. Returns that room.
  Box rank_line(int rank, const std::string& label, const std::string& figure) {
    const Box whole{kMargin, y_, room(), kBarLine};
    if (session_.selection().has_rank(rank)) body_.rect(whole, Role::kAccentSoft, {}, 0, 4);
    body_.text({whole.x + 8, y_, kLabelWidth - 12, kBarLine},
               elided(label, kLabelWidth - 12, Font::kBody, measure_));
    body_.text({whole.x + whole.w - kFigureWidth, y_, kFigureWidth - 8, kBarLine}, figure,
               {.font = Font::kMono, .align = Align::kRight});
    panel_.links.push_back({whole, [rank](Session& on) { on.select_rank(rank); }, /*shows=*/true});
    y_ += kBarLine;
    return {kMargin + kLabelWidth, whole.y + (kBarLine - kBarHeight) / 2,
            std::max(room() - kLabelWidth - kFigureWidth, 0), kBarHeight};
  }

  void paint_peaks(const analyzer::Memory& memory) {
    std::vector<const RankMemory*> known;
    int64_t most = 0;
    for (const RankMemory& one : memory.per_rank) {
      if (!one.peak_allocated && !one.peak_reserved) continue;
      known.push_back(&one);
      most = std::max(most, extent_of(one));
    }
    if (known.empty() || most <= 0) return;
    heading(
        fmt::format("What each rank held at its peak, on one scale up to {}", format_bytes(most)));
    for (const RankMemory* one : known) paint_peak(*one, most);
    paint_legend(known);
  }

  void paint_peak(const RankMemory& one, int64_t most) {
    const Box bar = rank_line(one.rank, label_of(one), figure_of(one));
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
    const int columns = std::max(1, room() / kLegendWidth);
    int column = 0;
    for (size_t use = 0; use < analyzer::kMemoryUses; ++use) {
      const bool there = std::ranges::any_of(known, [&](const RankMemory* one) {
        return one->by_category && (*one->by_category)[use] > 0;
      });
      if (!there) continue;
      const int x = kMargin + column * kLegendWidth;
      body_.rect({x, y_ + 5, 12, 12}, role_of_use(static_cast<MemoryUse>(use)));
      body_.text({x + 20, y_, kLegendWidth - 24, kLineHeight},
                 std::string(analyzer::title_of(static_cast<MemoryUse>(use))));
      if (++column < columns) continue;
      column = 0;
      y_ += kLineHeight;
    }
    if (column > 0) y_ += kLineHeight;
  }

  // Of the selected rank, else of the one with the largest peak.
  [[nodiscard]] const RankMemory* explained(const analyzer::Memory& memory) const {
    for (const RankMemory& one : memory.per_rank) {
      if (session_.selection().has_rank(one.rank) && !one.at_peak.empty()) return &one;
    }
    return analyzer::largest_peak(memory);
  }

  void paint_holders(const analyzer::Memory& memory) {
    const RankMemory* peak = explained(memory);
    if (peak == nullptr || peak->at_peak.empty()) return;
    const std::string moment = analyzer::peak_moment(*peak);
    heading(fmt::format("What lived at the peak of rank {}{}", peak->rank,
                        moment.empty() ? "" : fmt::format(" ({})", moment)));
    draw_heads(kHolderColumns, {kMargin, y_}, kLineHeight, body_);
    y_ += kLineHeight;
    body_.line({kMargin, y_ - 1}, {width_ - kMargin, y_ - 1}, Role::kBorder);
    for (const analyzer::MemoryHolder& holder : peak->at_peak) {
      const double share =
          static_cast<double>(holder.bytes) /
          static_cast<double>(std::max<int64_t>(peak->peak_allocated.value_or(1), 1));
      const std::array<std::string, kHolderColumns.size()> cells = {
          std::string(analyzer::title_of(holder.use)),
          format_bytes(holder.bytes),
          format_share(share),
          format_count(holder.blocks),
          analyzer::printable(holder.phase),
          holder.site.empty() ? std::string("an unknown place") : analyzer::printable(holder.site)};
      draw_cells(kHolderColumns, {kMargin, y_}, cells, measure_, body_);
      y_ += kLineHeight;
    }
  }

  void paint_resident(const analyzer::Memory& memory) {
    if (memory.host.empty()) return;
    const int64_t most = std::max<int64_t>(
        std::ranges::max(memory.host, {}, &analyzer::HostMemory::peak_resident).peak_resident, 1);
    heading(
        fmt::format("Resident memory of each process, on one scale up to {}", format_bytes(most)));
    for (const analyzer::HostMemory& host : memory.host) {
      std::string figure = format_bytes(host.peak_resident);
      if (host.first_steady && host.last_steady)
        figure = fmt::format("{} → {}, most {}", format_bytes(*host.first_steady),
                             format_bytes(*host.last_steady), figure);
      const Box bar = rank_line(host.rank, fmt::format("rank {}", host.rank), figure);
      const auto share = static_cast<double>(host.peak_resident) / static_cast<double>(most);
      body_.rect({bar.x, bar.y, static_cast<int>(share * bar.w), bar.h},
                 role_of(Category::kAllocator));
    }
  }

  const Session& session_;
  int width_;
  int height_;
  const TextMeasure& measure_;
  int y_ = kMargin;
  DrawList body_;
  Panel panel_;
};

}  // namespace

Panel draw_memory_page(const Session& session, int width, int height, const TextMeasure& measure) {
  return Painter(session, width, height, measure).paint();
}

}  // namespace dprof::view
