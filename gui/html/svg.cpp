// SPDX-License-Identifier: Apache-2.0
#include "gui/html/svg.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>

#include "analyzer/render/writers.h"
#include "gui/html/png.h"

namespace dprof::html {
namespace {

using view::Box;
using view::Command;
using view::CommandKind;
using view::DrawList;
using view::Font;
using view::Role;

struct FontLook {
  int pixels = 13;
  int weight = 400;
  bool mono = false;
};

// In the order of view::Font; the same as in the window.
constexpr std::array<FontLook, 8> kFontLooks = {{{13, 400},
                                                 {13, 600},
                                                 {12, 400},
                                                 {12, 500},
                                                 {12, 600},
                                                 {14, 600},
                                                 {12, 400, true},
                                                 {12, 700, true}}};

const FontLook& look_of(Font font) { return kFontLooks[static_cast<size_t>(font)]; }

constexpr int kMostTint = 255;
constexpr double kBaseline = 0.36;  // of a font's size, below the middle of a line

// In 1/1000 of the font size, from ' ' to '~': Helvetica's, which similar fonts share.
constexpr std::array<uint16_t, 95> kAdvances = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};
constexpr double kWiderThanHelvetica = 1.12;
constexpr double kWiderBold = 1.06;
constexpr double kMonoAdvance = 0.61;

int number_of(Role role) { return static_cast<int>(role); }

// Text on a page must be readable, including ticks.
Role readable_role(Role role) { return role == Role::kTextFaint ? Role::kTextDim : role; }

class SvgWriter {
 public:
  explicit SvgWriter(const DrawList& list) : list_(list) {}

  std::string write() && {
    for (const Command& command : list_.commands()) play(command);
    end_run();
    for (; open_ > 0; --open_) out_ += "</svg>";
    return std::move(out_);
  }

 private:
  template <typename... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
  }

  void play(const Command& command) {
    const Box& box = command.box;
    switch (command.kind) {
      case CommandKind::kRect:
        if (command.radius == 0) return add_to_run('f', command);
        end_run();
        add("<rect class=\"f{}\"{} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\"/>",
            number_of(command.role), opacity(command), box.x, box.y, box.w, box.h, command.radius);
        return;
      case CommandKind::kHatch:
        return add_to_run('h', command);
      case CommandKind::kFrame:
        return frame(command);
      case CommandKind::kText:
        return text(command);
      case CommandKind::kLine:
        end_run();
        add("<path class=\"s{}\"{} d=\"M{} {}L{} {}\"/>", number_of(command.role), opacity(command),
            box.x + 0.5, box.y + 0.5, box.x + box.w + 0.5, box.y + box.h + 0.5);
        return;
      case CommandKind::kPolyline:
        return polyline(command);
      case CommandKind::kImage:
        return image(command);
      case CommandKind::kClip:
        end_run();
        add("<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} {3}\">",
            box.x, box.y, box.w, box.h);
        ++open_;
        return;
      case CommandKind::kUnclip:
        end_run();
        if (open_ == 0) return;
        out_ += "</svg>";
        --open_;
        return;
    }
  }

  [[nodiscard]] static std::string opacity(const Command& command) {
    if (command.tint == 0) return {};
    return fmt::format(" opacity=\"{:.2f}\"", 1 - command.tint / double{kMostTint});
  }

  // Consecutive boxes that look alike become one path.
  void add_to_run(char kind, const Command& command) {
    const Box& box = command.box;
    if (box.w <= 0 || box.h <= 0) return;
    const uint8_t tint = kind == 'f' ? command.tint : 0;
    if (run_kind_ != kind || run_role_ != command.role || run_tint_ != tint) {
      end_run();
      run_kind_ = kind;
      run_role_ = command.role;
      run_tint_ = tint;
      add("<path class=\"{}{}\"{} d=\"", kind, number_of(command.role),
          kind == 'f' ? opacity(command) : "");
    }
    add("M{} {}h{}v{}h{}z", box.x, box.y, box.w, box.h, -box.w);
  }

  void end_run() {
    if (run_kind_ != 0) out_ += "\"/>";
    run_kind_ = 0;
  }

  void frame(const Command& command) {
    end_run();
    const double inset = command.thickness / 2.0;
    const Box& box = command.box;
    add("<rect class=\"s{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", number_of(command.role),
        box.x + inset, box.y + inset, std::max(box.w - 2 * inset, 0.0),
        std::max(box.h - 2 * inset, 0.0));
    if (command.radius > 0) add(" rx=\"{}\"", command.radius);
    if (command.thickness > 1) add(" stroke-width=\"{}\"", command.thickness);
    out_ += "/>";
  }

  void polyline(const Command& command) {
    end_run();
    add("<path class=\"s{}\" stroke-width=\"{:.1f}\"{} d=\"", number_of(command.role),
        command.thickness * 0.8 + 0.4, command.dashed ? " stroke-dasharray=\"3 2.5\"" : "");
    char verb = 'M';
    for (const view::Point& point : list_.points_of(command)) {
      add("{}{} {}", verb, point.x + 0.5, point.y + 0.5);
      verb = 'L';
    }
    out_ += "\"/>";
  }

  void text(const Command& command) {
    const std::string_view said = list_.text_of(command);
    if (said.empty()) return;
    end_run();
    const Box& box = command.box;
    const bool right = command.align == view::Align::kRight;
    const bool centre = command.align == view::Align::kCentre;
    const int x = right ? box.x + box.w : centre ? box.x + box.w / 2 : box.x;
    const double y = box.y + box.h / 2.0 + kBaseline * look_of(command.font).pixels;
    add("<text class=\"{}{} g{}{}\" x=\"{}\" y=\"{:.1f}\">{}</text>", command.on_fill ? 'o' : 't',
        number_of(readable_role(command.role)), static_cast<int>(command.font),
        right    ? " e"
        : centre ? " m"
                 : "",
        x, y, analyzer::escaped_markup(said));
  }

  // Levels become a mask, so that the role's colour works in either theme.
  void image(const Command& command) {
    const std::span<const uint8_t> levels = list_.levels_of(command);
    const Box& box = command.box;
    if (box.w <= 0 || box.h <= 0 ||
        levels.size() != static_cast<size_t>(box.w) * static_cast<size_t>(box.h))
      return;
    end_run();
    // Mask names are global in the page: the content makes them unique.
    const std::string data = base64_of(grey_png(levels, box.w, box.h));
    const std::string name = fmt::format("m{:x}", std::hash<std::string>{}(data));
    const std::string place =
        fmt::format("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", box.x, box.y, box.w, box.h);
    add("<mask id=\"{}\" maskUnits=\"userSpaceOnUse\" {}><image {} preserveAspectRatio=\"none\" "
        "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{}\"/></mask>"
        "<rect class=\"f{}\" {} mask=\"url(#{})\"/>",
        name, place, place, data, number_of(command.role), place, name);
  }

  const DrawList& list_;
  std::string out_;
  int open_ = 0;  // clips
  char run_kind_ = 0;
  Role run_role_{};
  uint8_t run_tint_ = 0;
};

std::string hex_of(view::Rgb colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.r, colour.g, colour.b);
}

}  // namespace

int PageTextMeasure::width(std::string_view text, Font font) const {
  const FontLook& look = look_of(font);
  double em = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0U) == 0x80U) continue;  // of a letter already counted
    const bool known = byte >= ' ' && byte <= '~';
    const double other = byte < 0xE0 ? 0.55 : 1;  // é, ·, ± or …, →, 漢
    em += look.mono ? kMonoAdvance : known ? kAdvances[byte - ' '] / 1000.0 : other;
  }
  if (!look.mono) em *= kWiderThanHelvetica * (look.weight > 400 ? kWiderBold : 1);
  return static_cast<int>(std::ceil(em * look.pixels));
}

std::string to_svg(const DrawList& list, Box seen, std::string_view about) {
  return fmt::format(
      "<svg class=\"picture\" viewBox=\"{} {} {} {}\" style=\"max-width:{}px\" role=\"img\" "
      "aria-label=\"{}\">{}</svg>",
      seen.x, seen.y, seen.w, seen.h, seen.w, analyzer::escaped_markup(about),
      SvgWriter(list).write());
}

std::string role_colours(const view::Theme& theme) {
  std::string out;
  for (size_t i = 0; i < view::kRoles; ++i) {
    const view::Rgb colour = theme.colours[i];
    fmt::format_to(std::back_inserter(out), "--r{}:{};--o{}:{};", i, hex_of(colour), i,
                   hex_of(view::label_on(colour)));
  }
  return out;
}

std::string role_classes() {
  std::string out;
  const auto to = std::back_inserter(out);
  for (size_t i = 0; i < view::kRoles; ++i) {
    fmt::format_to(to,
                   ".f{0},.t{0}{{fill:var(--r{0})}}.s{0}{{stroke:var(--r{0});fill:none}}"
                   ".o{0}{{fill:var(--o{0})}}",
                   i);
  }
  for (size_t c = 0; c < analyzer::kCategories; ++c) {
    const auto category = static_cast<analyzer::Category>(c);
    if (!view::is_hatched(category)) {
      fmt::format_to(to, ".c{0}{{background:var(--r{0})}}", c);
      continue;
    }
    fmt::format_to(to,
                   ".h{0}{{fill:url(#h{0})}}.c{0}{{background:repeating-linear-gradient(135deg,"
                   "var(--r{0}) 0 1.5px,var(--lane) 1.5px 4px)}}",
                   c);
  }
  for (size_t i = 0; i < kFontLooks.size(); ++i) {
    const FontLook& look = kFontLooks[i];
    fmt::format_to(to, ".g{}{{font:{} {}px {}}}", i, look.weight, look.pixels,
                   look.mono ? "var(--mono)" : "var(--sans)");
  }
  return out;
}

std::string shared_patterns() {
  std::string out =
      "<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\">";
  for (size_t c = 0; c < analyzer::kCategories; ++c) {
    if (!view::is_hatched(static_cast<analyzer::Category>(c))) continue;
    out += fmt::format(
        "<pattern id=\"h{0}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
        "<path class=\"f{1}\" d=\"M0 0h6v6h-6z\"/>"
        "<path class=\"s{0}\" stroke-width=\"1.25\" d=\"M-1 1L1 -1M-1 7L7 -1M5 7L7 5\"/></pattern>",
        c, number_of(Role::kLaneBackground));
  }
  return out + "</svg>";
}

}  // namespace dprof::html
