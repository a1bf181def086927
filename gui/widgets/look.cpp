// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/look.h"

#include <QFontMetricsF>
#include <QImage>
#include <QPainter>
#include <cmath>

namespace dprof::widgets {
namespace {

using view::Command;
using view::CommandKind;
using view::Font;
using view::Role;

constexpr int kHatchPitch = 6;
constexpr size_t kMostPreparedTexts = 20'000;

QFont make_font(const char* family, const char* fallback, int pixels, QFont::Weight weight) {
  QFont font(QStringList{QString::fromLatin1(family), QString::fromLatin1(fallback)});
  font.setPixelSize(pixels);
  font.setWeight(weight);
  font.setHintingPreference(QFont::PreferNoHinting);
  return font;
}

// In the order of view::Font.
std::array<QFont, kFonts> make_fonts() {
  const auto sans = [](int pixels, QFont::Weight weight) {
    // untranslated: names of fonts
    return make_font("Inter", "DejaVu Sans", pixels, weight);
  };
  const auto mono = [](QFont::Weight weight) {
    // untranslated: names of fonts
    return make_font("DejaVu Sans Mono", "monospace", 12, weight);
  };
  QFont heading = sans(12, QFont::DemiBold);
  heading.setLetterSpacing(QFont::AbsoluteSpacing, 0.4);
  return {sans(13, QFont::Normal),
          sans(13, QFont::DemiBold),
          sans(12, QFont::Normal),
          sans(12, QFont::Medium),
          heading,
          sans(14, QFont::DemiBold),
          mono(QFont::Normal),
          mono(QFont::Bold)};
}

QColor to_colour(view::Rgb rgb) { return {rgb.r, rgb.g, rgb.b}; }

QRect to_rect(const view::Box& box) { return {box.x, box.y, box.w, box.h}; }

// Diagonal stripes that meet from tile to tile.
QBrush hatch_brush(QColor stripe, QColor ground) {
  constexpr int kDetail = 4;  // drawn larger, so that it stays smooth on dense screens
  constexpr int kSize = kHatchPitch * kDetail;
  QImage tile(kSize, kSize, QImage::Format_ARGB32_Premultiplied);
  tile.fill(ground);
  QPainter painter(&tile);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(stripe, 1.25 * kDetail));
  for (int offset = -kSize; offset <= kSize; offset += kSize) {
    painter.drawLine(offset - kSize, 2 * kSize, offset + 2 * kSize, -kSize);
  }
  painter.end();
  QImage small =
      tile.scaled(kHatchPitch, kHatchPitch, Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
  return QBrush(small);
}

}  // namespace

QtTextMeasure::QtTextMeasure(const std::array<QFont, kFonts>& fonts) {
  for (size_t i = 0; i < kFonts; ++i) {
    advances_[i].font = fonts[i];
    const QFontMetricsF metrics(fonts[i]);
    for (char32_t c = 32; c < 128; ++c) {
      advances_[i].ascii[c] =
          static_cast<float>(metrics.horizontalAdvance(QChar(static_cast<char16_t>(c))));
    }
  }
}

int QtTextMeasure::width(std::string_view text, Font font) const {
  const Advances& advances = advances_[static_cast<size_t>(font)];
  float sum = 0;
  bool plain = true;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    plain = plain && byte < 128;
    if (byte < 128) sum += advances.ascii[byte];
  }
  if (!plain) {
    const QList<uint> letters =
        QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())).toUcs4();
    for (const uint letter : letters) {
      if (letter < 128) continue;
      const auto known = advances.others.constFind(letter);
      if (known != advances.others.constEnd()) {
        sum += *known;
        continue;
      }
      const char32_t code = letter;
      const auto advance = static_cast<float>(
          QFontMetricsF(advances.font).horizontalAdvance(QString::fromUcs4(&code, 1)));
      advances.others.insert(letter, advance);
      sum += advance;
    }
  }
  return static_cast<int>(std::ceil(sum));
}

Look::Look(const view::Theme& theme) : theme_(&theme), fonts_(make_fonts()), measure_(fonts_) {
  make_brushes();
}

void Look::set_theme(const view::Theme& theme) {
  theme_ = &theme;
  make_brushes();
}

const QFont& Look::font(Font font) const { return fonts_[static_cast<size_t>(font)]; }
QColor Look::colour(Role role) const { return to_colour(theme_->of(role)); }

void Look::make_brushes() {
  constexpr int kGroundShare = 34;
  const view::Rgb canvas = theme_->of(Role::kCanvas);
  for (size_t role = 0; role < view::kRoles; ++role) {
    const view::Rgb stripe = theme_->of(static_cast<Role>(role));
    hatches_[role] =
        hatch_brush(to_colour(stripe), to_colour(view::mixed(canvas, stripe, kGroundShare)));
  }
}

const QStaticText& Look::prepared(Font font, std::string_view text) {
  if (texts_.size() > kMostPreparedTexts) texts_.clear();
  const auto [place, added] = texts_.try_emplace(TextKey{font, std::string(text)});
  if (added) {
    place->second.setText(QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())));
    place->second.setTextFormat(Qt::PlainText);
    place->second.setPerformanceHint(QStaticText::AggressiveCaching);
    place->second.prepare(QTransform(), fonts_[static_cast<size_t>(font)]);
  }
  return place->second;
}

void Look::play_text(const view::DrawList& list, const Command& command, QPainter& painter) {
  const QStaticText& text = prepared(command.font, list.text_of(command));
  const view::Rgb fill = theme_->of(command.role);
  painter.setPen(to_colour(command.on_fill ? view::label_on(fill) : fill));
  painter.setFont(fonts_[static_cast<size_t>(command.font)]);
  const QSizeF size = text.size();
  qreal x = command.box.x;
  if (command.align == view::Align::kRight) x += command.box.w - size.width();
  if (command.align == view::Align::kCentre) x += (command.box.w - size.width()) / 2;
  const qreal y = command.box.y + std::floor((command.box.h - size.height()) / 2);
  painter.drawStaticText(QPointF(x, y), text);
}

void Look::play_shape(const Command& command, QPainter& painter) {
  const QRect rect = to_rect(command.box);
  QColor fill = colour(command.role);
  fill.setAlpha(255 - command.tint);
  if (command.kind == CommandKind::kHatch) {
    painter.setBrushOrigin(0, 0);
    painter.fillRect(rect, hatches_[static_cast<size_t>(command.role)]);
    return;
  }
  if (command.kind == CommandKind::kRect && command.radius == 0) {
    painter.fillRect(rect, fill);
    return;
  }
  painter.setRenderHint(QPainter::Antialiasing, true);
  if (command.kind == CommandKind::kRect) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(fill);
    painter.drawRoundedRect(rect, command.radius, command.radius);
  } else {
    // The outline lies inside the box, on whole pixels.
    const qreal inset = command.thickness / 2.0;
    QPen pen(fill, command.thickness);
    pen.setJoinStyle(Qt::MiterJoin);
    painter.setPen(pen);
    painter.setBrush(Qt::NoBrush);
    const QRectF line = QRectF(rect).adjusted(inset, inset, -inset, -inset);
    painter.drawRoundedRect(line, command.radius, command.radius);
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void Look::play_polyline(const view::DrawList& list, const Command& command, QPainter& painter) {
  QPolygonF line;
  for (const view::Point& point : list.points_of(command)) {
    line << QPointF(point.x + 0.5, point.y + 0.5);
  }
  QPen pen(colour(command.role), command.thickness * 0.8 + 0.4);
  if (command.dashed) pen.setDashPattern({3, 2.5});
  pen.setJoinStyle(Qt::RoundJoin);
  painter.setRenderHint(QPainter::Antialiasing, true);
  painter.setPen(pen);
  painter.setBrush(Qt::NoBrush);
  painter.drawPolyline(line);
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void Look::play_image(const view::DrawList& list, const Command& command, QPainter& painter) {
  const std::span<const uint8_t> levels = list.levels_of(command);
  const int width = command.box.w;
  const int height = command.box.h;
  if (levels.size() != static_cast<size_t>(width) * static_cast<size_t>(height)) return;
  std::array<QRgb, 256> shades{};
  for (int i = 0; i < 256; ++i) {
    shades[static_cast<size_t>(i)] =
        to_colour(view::mixed(theme_->of(Role::kCanvas), theme_->of(command.role), i)).rgb();
  }
  QImage image(width, height, QImage::Format_RGB32);
  for (int y = 0; y < height; ++y) {
    auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
    for (int x = 0; x < width; ++x) {
      line[x] = shades[levels[static_cast<size_t>(y) * static_cast<size_t>(width) +
                              static_cast<size_t>(x)]];
    }
  }
  painter.drawImage(command.box.x, command.box.y, image);
}

void Look::play(const view::DrawList& list, QPainter& painter) {
  for (const Command& command : list.commands()) {
    const view::Box& box = command.box;
    switch (command.kind) {
      case CommandKind::kRect:
      case CommandKind::kHatch:
      case CommandKind::kFrame:
        play_shape(command, painter);
        break;
      case CommandKind::kText:
        play_text(list, command, painter);
        break;
      case CommandKind::kLine:
        painter.setPen(QPen(colour(command.role), 1));
        painter.drawLine(box.x, box.y, box.x + box.w, box.y + box.h);
        break;
      case CommandKind::kPolyline:
        play_polyline(list, command, painter);
        break;
      case CommandKind::kImage:
        play_image(list, command, painter);
        break;
      case CommandKind::kClip:
        painter.save();
        painter.setClipRect(to_rect(box), Qt::IntersectClip);
        break;
      case CommandKind::kUnclip:
        painter.restore();
        break;
    }
  }
}

QString Look::style_sheet() const {
  QString sheet = QStringLiteral(R"(
    QWidget { background: @window; color: @text; }
    QLineEdit { background: @field; border: 1px solid @border; border-radius: 5px;
                padding: 2px 9px; selection-background-color: @accent; }
    QLineEdit:focus { border: 1px solid @accent; }
    QToolButton { background: @field; border: 1px solid @border; border-radius: 5px;
                  padding: 4px 9px; }
    QToolButton:hover, QToolButton:focus { border: 1px solid @accent; }
    QPushButton { background: @field; border: 1px solid @border; border-radius: 5px;
                  padding: 5px 18px; }
    QPushButton:hover, QPushButton:focus, QPushButton:default { border: 1px solid @accent; }
    QPushButton:disabled, QLineEdit:disabled { color: @dim; }
    QProgressBar { background: @field; border: 1px solid @border; border-radius: 4px;
                   max-height: 8px; }
    QProgressBar::chunk { background: @accent; border-radius: 3px; }
    QTabBar { background: @window; border: 0; }
    QTabBar::tab { background: @window; color: @dim; border: 0; padding: 7px 0 5px 0;
                   margin: 0 12px; border-bottom: 2px solid @window; }
    QTabBar::tab:selected { color: @text; border-bottom: 2px solid @accent; }
    QTabBar::tab:hover { color: @text; }
    QSplitter::handle:horizontal { background: @border; }
    QSplitter::handle:vertical { background: @window; }
    #docks::separator { background: @window; width: 5px; height: 5px; }
    #docks::separator:horizontal { border-top: 1px solid @border; }
    #docks::separator:vertical { border-left: 1px solid @border; }
    #docks::separator:hover { border-color: @accent; }
    #docks > QTabBar::tab { margin: 0 12px 9px 12px; }
    QDockWidget { background: @border; }
    #dock_title QLabel { color: @dim; }
    #dock_title QToolButton { background: @window; border: 0; padding: 3px 7px; color: @dim; }
    #dock_title QToolButton:hover, #dock_title QToolButton:focus { color: @text;
                                                                  background: @soft; }
    QMenu { background: @field; border: 1px solid @border; padding: 4px; }
    QMenu::item { background: @field; padding: 5px 22px 5px 26px; }
    QMenu::item:selected { background: @soft; color: @text; }
    QMenu::separator { background: @border; height: 1px; margin: 4px 8px; }
    QAbstractScrollArea { border: 0; }
    QAbstractScrollArea::corner { background: @window; border: 0; }
    QPlainTextEdit { background: @field; border: 1px solid @border; border-radius: 5px;
                     padding: 1px 5px; selection-background-color: @accent; }
    QPlainTextEdit:focus { border: 1px solid @accent; }
    QTreeWidget { background: @canvas; outline: 0; }
    QTreeWidget::item { background: @canvas; border: 0; padding: 4px 6px; }
    QTreeWidget::item:hover, QTreeWidget::item:selected { background: @soft; color: @text; }
    QScrollBar:vertical { background: @window; width: 10px; margin: 0; }
    QScrollBar::handle:vertical { background: @border; border-radius: 3px; min-height: 24px;
                                  margin: 2px; }
    QScrollBar:horizontal { background: @window; height: 10px; margin: 0; }
    QScrollBar::handle:horizontal { background: @border; border-radius: 3px; min-width: 24px;
                                    margin: 2px; }
    QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
    QScrollBar::add-page, QScrollBar::sub-page { background: none; }
  )");
  const auto set = [&](const char* name, Role role) {
    sheet.replace(QString::fromLatin1(name), colour(role).name());
  };
  set("@window", Role::kWindow);
  set("@text", Role::kText);
  set("@dim", Role::kTextDim);
  set("@field", Role::kField);
  set("@border", Role::kBorder);
  set("@accent", Role::kAccent);
  set("@canvas", Role::kCanvas);
  set("@soft", Role::kAccentSoft);
  return sheet;
}

}  // namespace dprof::widgets
