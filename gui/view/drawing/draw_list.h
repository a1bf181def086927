// SPDX-License-Identifier: Apache-2.0
// A picture, as plain data: made without a toolkit, played onto a QPainter by gui/widgets, and
// recorded as text by tests. Colours are roles; text is measured through an interface.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gui/view/drawing/theme.h"

namespace dprof::view {

struct Box {
  int x = 0, y = 0, w = 0, h = 0;
  [[nodiscard]] bool contains(int px, int py) const {
    return px >= x && px < x + w && py >= y && py < y + h;
  }
  friend constexpr bool operator==(Box, Box) = default;
};

struct Point {
  int x = 0, y = 0;
};

enum class Font : uint8_t {
  kBody,
  kBold,
  kSmall,
  kLabel,  // inside slices
  kHeading,
  kTitle,
  kMono,
  kMonoBold,
};

enum class Align : uint8_t { kLeft, kRight, kCentre };

// The width of a text. The toolkit measures its fonts; tests use a fixed width.
class TextMeasure {
 public:
  virtual ~TextMeasure() = default;
  [[nodiscard]] virtual int width(std::string_view text, Font font) const = 0;
};

class FixedTextMeasure final : public TextMeasure {
 public:
  [[nodiscard]] int width(std::string_view text, Font font) const override;
};

// The object that an item represents, so that a dump can be checked against the trace.
struct Tag {
  std::string_view table;  // "host_range", "collective": of static storage or the model
  int32_t rank = -1;
  int64_t row = -1;
  uint32_t folded = 0;  // number of objects represented; 0 = one
};

enum class CommandKind : uint8_t {
  kRect,
  kHatch,
  kFrame,
  kText,
  kLine,
  kPolyline,
  kImage,
  kClip,
  kUnclip
};

struct Command {
  CommandKind kind = CommandKind::kRect;
  Role role = Role::kText;
  uint8_t tint = 0;  // opacity of what is underneath (0…255)
  Font font = Font::kBody;
  Align align = Align::kLeft;
  bool on_fill = false;  // text: choose the colour that reads on `role`
  uint8_t radius = 0;
  uint8_t thickness = 1;
  bool dashed = false;
  Box box;             // line: from (x, y) to (x + w, y + h)
  uint32_t first = 0;  // text: index of the string; polyline: first point; image: first level
  uint32_t count = 0;  // points or levels
  Tag tag;
};

// Look of text.
struct TextStyle {
  Role role = Role::kText;
  Font font = Font::kBody;
  Align align = Align::kLeft;
  bool on_fill = false;
};

// Commands in painting order.
class DrawList {
 public:
  void rect(Box box, Role role, Tag tag = {}, uint8_t tint = 0, uint8_t radius = 0);
  void hatch(Box box, Role role, Tag tag = {});
  void frame(Box box, Role role, uint8_t radius = 0, uint8_t thickness = 1);
  // Vertically centred in the box; the caller has elided it.
  void text(Box box, std::string text, TextStyle style = {});
  void line(Point from, Point to, Role role, uint8_t tint = 0);
  void polyline(std::span<const Point> points, Role role, bool dashed, uint8_t thickness);
  // One level (0…255, canvas to role) per pixel, row by row.
  void image(Box box, std::span<const uint8_t> levels, Role role);
  void clip(Box box);
  void unclip();
  // Appends another list's commands, moved by `offset`.
  void append(const DrawList& other, Point offset = {});

  [[nodiscard]] std::span<const Command> commands() const { return commands_; }
  [[nodiscard]] std::string_view text_of(const Command& command) const;
  [[nodiscard]] std::span<const Point> points_of(const Command& command) const;
  [[nodiscard]] std::span<const uint8_t> levels_of(const Command& command) const;
  void clear();

 private:
  std::vector<Command> commands_;
  std::vector<std::string> texts_;
  std::vector<Point> points_;
  std::vector<uint8_t> levels_;
};

// One line per command, stable: `rect 412 96 37 16 category:forward row:5/host_range/81234`.
[[nodiscard]] std::string to_text(const DrawList& list);

// `text` shortened with "…" to at most `width`; empty if not even one letter fits.
[[nodiscard]] std::string elided(std::string_view text, int width, Font font,
                                 const TextMeasure& measure);

// `text` broken at spaces into lines at most `width` wide.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, int width, Font font,
                                               const TextMeasure& measure);
// Draws its lines from `at` on, each `line` high. Returns the position of the next one.
int draw_wrapped(std::string_view text, Point at, int width, int line, TextStyle style,
                 const TextMeasure& measure, DrawList& list);

// Hatched if the category is pure waiting.
[[nodiscard]] bool is_hatched(analyzer::Category category);
void draw_category(Box box, analyzer::Category category, DrawList& list);

}  // namespace dprof::view
