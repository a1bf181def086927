// SPDX-License-Identifier: Apache-2.0
#include "gui/view/drawing/draw_list.h"

#include <fmt/format.h>

#include <iterator>

namespace dprof::view {
namespace {

constexpr std::string_view kEllipsis = "…";

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

uint32_t size_of(const auto& container) { return static_cast<uint32_t>(container.size()); }

// FNV-1a: a short representation of an image's content.
uint32_t hash_of(std::span<const uint8_t> bytes) {
  uint32_t hash = 2166136261U;
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 16777619U;
  return hash;
}

void append_tag(std::string& out, const Tag& tag) {
  if (tag.row >= 0)  // untranslated: in a dump
    fmt::format_to(std::back_inserter(out), " row:{}/{}/{}", tag.rank, tag.table, tag.row);
  // untranslated: in a dump
  if (tag.folded > 0) fmt::format_to(std::back_inserter(out), " folded:{}", tag.folded);
}

std::string_view verb_of(CommandKind kind) {
  constexpr std::string_view kWords[] = {"rect",     "hatch", "frame", "text",  "line",
                                         "polyline", "image", "clip",  "unclip"};
  return kWords[static_cast<size_t>(kind)];
}

}  // namespace

int FixedTextMeasure::width(std::string_view text, Font) const {
  int letters = 0;
  for (const char c : text) letters += is_continuation(c) ? 0 : 1;
  return letters * 7;
}

void DrawList::rect(Box box, Role role, Tag tag, uint8_t tint, uint8_t radius) {
  commands_.push_back({.kind = CommandKind::kRect,
                       .role = role,
                       .tint = tint,
                       .radius = radius,
                       .box = box,
                       .tag = tag});
}

void DrawList::hatch(Box box, Role role, Tag tag) {
  commands_.push_back({.kind = CommandKind::kHatch, .role = role, .box = box, .tag = tag});
}

void DrawList::frame(Box box, Role role, uint8_t radius, uint8_t thickness) {
  commands_.push_back({.kind = CommandKind::kFrame,
                       .role = role,
                       .radius = radius,
                       .thickness = thickness,
                       .box = box});
}

void DrawList::text(Box box, std::string text, TextStyle style) {
  if (text.empty()) return;
  commands_.push_back({.kind = CommandKind::kText,
                       .role = style.role,
                       .font = style.font,
                       .align = style.align,
                       .on_fill = style.on_fill,
                       .box = box,
                       .first = size_of(texts_)});
  texts_.push_back(std::move(text));
}

void DrawList::line(Point from, Point to, Role role, uint8_t tint) {
  commands_.push_back({.kind = CommandKind::kLine,
                       .role = role,
                       .tint = tint,
                       .box = {from.x, from.y, to.x - from.x, to.y - from.y}});
}

void DrawList::polyline(std::span<const Point> points, Role role, bool dashed, uint8_t thickness) {
  commands_.push_back({.kind = CommandKind::kPolyline,
                       .role = role,
                       .thickness = thickness,
                       .dashed = dashed,
                       .first = size_of(points_),
                       .count = size_of(points)});
  points_.insert(points_.end(), points.begin(), points.end());
}

void DrawList::image(Box box, std::span<const uint8_t> levels, Role role) {
  commands_.push_back({.kind = CommandKind::kImage,
                       .role = role,
                       .box = box,
                       .first = size_of(levels_),
                       .count = size_of(levels)});
  levels_.insert(levels_.end(), levels.begin(), levels.end());
}

void DrawList::clip(Box box) { commands_.push_back({.kind = CommandKind::kClip, .box = box}); }
void DrawList::unclip() { commands_.push_back({.kind = CommandKind::kUnclip}); }

void DrawList::append(const DrawList& other, Point offset) {
  for (Command command : other.commands_) {
    if (command.kind == CommandKind::kText) command.first += size_of(texts_);
    if (command.kind == CommandKind::kPolyline) command.first += size_of(points_);
    if (command.kind == CommandKind::kImage) command.first += size_of(levels_);
    command.box.x += offset.x;
    command.box.y += offset.y;
    commands_.push_back(command);
  }
  texts_.insert(texts_.end(), other.texts_.begin(), other.texts_.end());
  for (const Point& point : other.points_) {
    points_.push_back({point.x + offset.x, point.y + offset.y});
  }
  levels_.insert(levels_.end(), other.levels_.begin(), other.levels_.end());
}

std::string_view DrawList::text_of(const Command& command) const { return texts_[command.first]; }

std::span<const Point> DrawList::points_of(const Command& command) const {
  return std::span(points_).subspan(command.first, command.count);
}

std::span<const uint8_t> DrawList::levels_of(const Command& command) const {
  return std::span(levels_).subspan(command.first, command.count);
}

void DrawList::clear() {
  commands_.clear();
  texts_.clear();
  points_.clear();
  levels_.clear();
}

std::string to_text(const DrawList& list) {
  std::string out;
  const auto to = std::back_inserter(out);
  for (const Command& command : list.commands()) {
    const Box& box = command.box;
    out += verb_of(command.kind);
    switch (command.kind) {
      case CommandKind::kUnclip:
        break;
      case CommandKind::kClip:
        fmt::format_to(to, " {} {} {} {}", box.x, box.y, box.w, box.h);
        break;
      case CommandKind::kLine:
        fmt::format_to(to, " {} {} {} {} {}", box.x, box.y, box.x + box.w, box.y + box.h,
                       word_of(command.role));
        break;
      case CommandKind::kPolyline:
        for (const Point& point : list.points_of(command)) {
          fmt::format_to(to, " {},{}", point.x, point.y);
        }
        fmt::format_to(to, " {}", word_of(command.role));
        break;
      case CommandKind::kText:
        fmt::format_to(to, " {} {} {} {}{} \"{}\"", box.x, box.y, box.w,
                       command.on_fill ? "on:" : "", word_of(command.role), list.text_of(command));
        break;
      case CommandKind::kImage:
        fmt::format_to(to, " {} {} {} {} {} {:08x}", box.x, box.y, box.w, box.h,
                       word_of(command.role), hash_of(list.levels_of(command)));
        break;
      case CommandKind::kRect:
      case CommandKind::kHatch:
      case CommandKind::kFrame:
        fmt::format_to(to, " {} {} {} {} {}", box.x, box.y, box.w, box.h, word_of(command.role));
        append_tag(out, command.tag);
        break;
    }
    out += '\n';
  }
  return out;
}

std::string elided(std::string_view text, int width, Font font, const TextMeasure& measure) {
  if (measure.width(text, font) <= width) return std::string(text);
  const int room = width - measure.width(kEllipsis, font);
  // Widths grow with the prefix, so bisection finds the longest one that fits.
  size_t fits = 0;
  size_t too_long = text.size();
  while (fits + 1 < too_long) {
    const size_t middle = (fits + too_long) / 2;
    (measure.width(text.substr(0, middle), font) <= room ? fits : too_long) = middle;
  }
  while (fits > 0 && is_continuation(text[fits])) --fits;
  if (fits == 0) return {};
  return std::string(text.substr(0, fits)) + std::string(kEllipsis);
}

std::vector<std::string> wrapped(std::string_view text, int width, Font font,
                                 const TextMeasure& measure) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (word.empty()) continue;
    const std::string longer = line.empty() ? std::string(word) : fmt::format("{} {}", line, word);
    if (!line.empty() && measure.width(longer, font) > width) {
      lines.push_back(elided(line, width, font, measure));
      line = word;
    } else {
      line = longer;
    }
  }
  if (!line.empty()) lines.push_back(elided(line, width, font, measure));
  return lines;
}

int draw_wrapped(std::string_view text, Point at, int width, int line, TextStyle style,
                 const TextMeasure& measure, DrawList& list) {
  for (std::string& part : wrapped(text, width, style.font, measure)) {
    list.text({at.x, at.y, width, line}, std::move(part), style);
    at.y += line;
  }
  return at.y;
}

bool is_hatched(analyzer::Category category) {
  return category == analyzer::Category::kExposedWait ||
         category == analyzer::Category::kSyncBubble;
}

void draw_category(Box box, analyzer::Category category, DrawList& list) {
  if (is_hatched(category)) {
    list.hatch(box, role_of(category));
  } else {
    list.rect(box, role_of(category));
  }
}

}  // namespace dprof::view
