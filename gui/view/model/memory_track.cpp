// SPDX-License-Identifier: Apache-2.0
#include "gui/view/model/memory_track.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "gui/view/drawing/texts.h"

namespace dprof::view {
namespace {

using analyzer::LevelCurve;
using analyzer::LevelPoint;
using analyzer::MemoryCurve;

// An area that is always visible must not be louder than events.
constexpr uint8_t kAreaTint = 140;
constexpr uint8_t kMemoryBandTint = 195;
constexpr int kEdge = 2;

void widen_held(std::optional<HeldMemory>& held, int64_t low, int64_t high, int64_t reserved) {
  if (!held) held = HeldMemory{low, high, std::nullopt};
  held->low = std::min(held->low, low);
  held->high = std::max(held->high, high);
  if (reserved != analyzer::kUnknownLevel)
    held->reserved = std::max(held->reserved.value_or(reserved), reserved);
}

// Columns of pixels that look the same, painted as one box.
class ColumnPainter {
 public:
  ColumnPainter(Box area, int64_t full, DrawList& list) : area_(area), full_(full), list_(list) {}

  void add(int x, const std::optional<HeldMemory>& held) {
    Column column;
    if (held) {
      column = {true, pixels(held->low), std::max(pixels(held->high), 1),
                held->reserved ? pixels(*held->reserved) : -1};
    }
    if (column == column_) return;
    flush(x);
    column_ = column;
    from_ = x;
  }

  void flush(int until) {
    if (!column_.known || until <= from_) return;
    const auto rect = [&](int above, int below, uint8_t tint) {
      if (above <= below) return;
      list_.rect({area_.x + from_, area_.y + area_.h - above, until - from_, above - below},
                 role_of(analyzer::Category::kAllocator), {}, tint);
    };
    rect(column_.low, 0, kAreaTint);
    rect(column_.high, column_.low, kMemoryBandTint);
    rect(column_.high, std::max(column_.high - kEdge, 0), 0);
    if (column_.reserved > 0) {
      list_.rect({area_.x + from_, area_.y + area_.h - column_.reserved, until - from_, 1},
                 Role::kTextDim);
    }
  }

 private:
  struct Column {
    bool known = false;
    int low = 0;  // heights in pixels
    int high = 0;
    int reserved = -1;  // -1 = not known
    friend bool operator==(const Column&, const Column&) = default;
  };

  [[nodiscard]] int pixels(int64_t bytes) const {
    const double share =
        static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(full_, 1));
    return static_cast<int>(std::clamp(share, 0.0, 1.0) * area_.h);
  }

  Box area_;
  int64_t full_;
  DrawList& list_;
  Column column_;
  int from_ = 0;
};

}  // namespace

MemoryTrack::MemoryTrack(MemoryCurve of) : curve(std::move(of)) {
  int64_t least = curve.levels.points.empty() ? 0 : curve.levels.points.front().low;
  int64_t held = least;
  for (const LevelPoint& point : curve.levels.points) {
    least = std::min(least, point.low);
    held = std::max(held, point.high);
    most = std::max({most, point.high, point.reserved});
  }
  changes = held > least;
}

std::string title_of(const MemoryCurve& curve) {
  if (curve.device >= 0) return say("memory of device {}", curve.device);
  return is_resident(curve) ? say("resident memory") : say("memory of the host");
}

std::string word_of(const MemoryCurve& curve) {
  if (curve.device >= 0) return fmt::format("device:{}/memory", curve.device);
  return is_resident(curve) ? "resident" : "memory";
}

std::optional<HeldMemory> held_in(const LevelCurve& levels, Interval span) {
  const std::vector<LevelPoint>& points = levels.points;
  if (points.empty() || span.begin > levels.end) return std::nullopt;
  std::optional<HeldMemory> held;
  auto next = std::ranges::upper_bound(points, span.begin, {}, &LevelPoint::begin);
  if (next != points.begin()) {
    const LevelPoint& now = *(next - 1);
    const bool in_cell = (span.begin - now.begin).ns < levels.cell_ns;
    widen_held(held, in_cell ? now.low : now.last, in_cell ? now.high : now.last, now.reserved);
  }
  for (; next != points.end() && next->begin < span.end; ++next)
    widen_held(held, next->low, next->high, next->reserved);
  return held;
}

std::string held_text(const MemoryCurve& curve, const HeldMemory& held) {
  std::string level = format_bytes(held.high);
  if (held.low < held.high) level = say("{} to {}", format_bytes(held.low), level);
  if (is_resident(curve)) return say("{} resident", level);
  if (!held.reserved) return say("{} allocated", level);
  return say("{} allocated, {} reserved", level, format_bytes(*held.reserved));
}

void draw_held(const LevelCurve& levels, const TimeScale& scale, Box area, int64_t full,
               DrawList& list) {
  ColumnPainter painter(area, full, list);
  for (int x = 0; x < area.w; ++x)
    painter.add(x, held_in(levels, {scale.time_of(x), scale.time_of(x + 1)}));
  painter.flush(area.w);
}

}  // namespace dprof::view
