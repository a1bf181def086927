// SPDX-License-Identifier: Apache-2.0
// The look of draw lists on a screen: theme, fonts, and the playing of a list onto a QPainter.
#pragma once

#include <QBrush>
#include <QFont>
#include <QHash>
#include <QStaticText>
#include <array>
#include <memory>
#include <string>
#include <unordered_map>

#include "gui/view/drawing/draw_list.h"
#include "gui/view/drawing/theme.h"

class QPainter;

namespace dprof::widgets {

inline constexpr size_t kFonts = 8;

// Widths as sums of letter advances: cheap, and never less than what is painted.
class QtTextMeasure final : public view::TextMeasure {
 public:
  explicit QtTextMeasure(const std::array<QFont, kFonts>& fonts);
  [[nodiscard]] int width(std::string_view text, view::Font font) const override;

 private:
  struct Advances {
    std::array<float, 128> ascii{};
    mutable QHash<char32_t, float> others;
    QFont font;
  };
  std::array<Advances, kFonts> advances_;
};

// Threading  the user interface's thread only; a QGuiApplication must exist.
class Look {
 public:
  explicit Look(const view::Theme& theme);

  [[nodiscard]] const view::Theme& theme() const { return *theme_; }
  void set_theme(const view::Theme& theme);
  [[nodiscard]] const QtTextMeasure& measure() const { return measure_; }
  [[nodiscard]] const QFont& font(view::Font font) const;
  [[nodiscard]] QColor colour(view::Role role) const;
  // For Qt's own controls: fields, tabs, scroll bars, splitters.
  [[nodiscard]] QString style_sheet() const;

  void play(const view::DrawList& list, QPainter& painter);

 private:
  struct TextKey {
    view::Font font;
    std::string text;
    bool operator==(const TextKey&) const = default;
  };
  struct TextKeyHash {
    size_t operator()(const TextKey& key) const {
      return std::hash<std::string>()(key.text) * 8 + static_cast<size_t>(key.font);
    }
  };

  void make_brushes();
  void play_text(const view::DrawList& list, const view::Command& command, QPainter& painter);
  void play_shape(const view::Command& command, QPainter& painter);
  void play_polyline(const view::DrawList& list, const view::Command& command, QPainter& painter);
  void play_image(const view::DrawList& list, const view::Command& command, QPainter& painter);
  const QStaticText& prepared(view::Font font, std::string_view text);

  const view::Theme* theme_;
  std::array<QFont, kFonts> fonts_;
  QtTextMeasure measure_;
  std::array<QBrush, view::kRoles> hatches_;
  std::unordered_map<TextKey, QStaticText, TextKeyHash> texts_;
};

}  // namespace dprof::widgets
