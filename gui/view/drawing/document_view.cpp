// SPDX-License-Identifier: Apache-2.0
// untranslated file: it draws what the analyser says
#include "gui/view/drawing/document_view.h"

#include <algorithm>
#include <string>
#include <vector>

#include "analyzer/render/layout.h"
#include "analyzer/render/writers.h"
#include "gui/view/drawing/columns.h"

namespace dprof::view {
namespace {

using analyzer::Style;

constexpr int kFactLabel = 110;
constexpr int kMarkWidth = 18;
constexpr int kCellGap = 24;
constexpr int kAboveHeading = 20;
constexpr int kHeadingLine = 26;
constexpr int kWidestCell = 460;
constexpr int kBarUnit = 1;  // pixels of an eighth of a block
constexpr int kBarThickness = 9;

class DocumentPainter {
 public:
  DocumentPainter(Point at, int width, const TextMeasure& measure, DrawList& list)
      : x_(at.x), y_(at.y), width_(width), measure_(measure), list_(list) {}

  [[nodiscard]] int y() const { return y_; }

  void operator()(const analyzer::Heading& heading) {
    y_ += kAboveHeading;
    line(analyzer::calm_title(heading.title), 0, {.font = Font::kHeading}, kHeadingLine);
    if (!heading.remark.empty()) lines(heading.remark, 0, {.role = Role::kTextDim});
    y_ += 4;
  }
  void operator()(const analyzer::FactList& facts) {
    for (const analyzer::Fact& fact : facts.facts) {
      list_.text({x_, y_, kFactLabel, kLineHeight}, fact.label, {.role = Role::kTextDim});
      if (fact.said.size() == 1) {
        lines(fact.said.front().text, kFactLabel, {.role = role_of(fact.said.front().style)});
      } else {
        spans(fact.said, kFactLabel);
      }
    }
  }
  void operator()(const analyzer::Paragraph& p) { lines(p.text, 0, {.role = role_of(p.style)}); }
  void operator()(const analyzer::SingleLine& one) { spans(one.spans, 0); }
  void operator()(const analyzer::List& items) {
    for (const analyzer::Item& item : items.items) {
      list_.text({x_, y_, kMarkWidth, kLineHeight}, item.mark, {.role = role_of(item.mark_style)});
      lines(item.text, kMarkWidth, {.role = role_of(item.style)});
    }
  }
  void operator()(const analyzer::Table& table) {
    const std::vector<int> widths = widths_of(table);
    int x = x_;
    for (size_t c = 0; c < table.columns.size(); ++c) {
      cell({table.columns[c].title, Style::kFaint}, table.columns[c].align, x, widths[c],
           Font::kSmall);
      x += widths[c] + kCellGap;
    }
    y_ += kLineHeight;
    list_.line({x_, y_ - 1}, {x - kCellGap, y_ - 1}, Role::kBorder);
    for (const std::vector<analyzer::Span>& row : table.rows) {
      x = x_;
      for (size_t c = 0; c < std::min(row.size(), widths.size()); ++c) {
        cell(row[c], table.columns[c].align, x, widths[c], font_of(row[c], table.columns[c].align));
        x += widths[c] + kCellGap;
      }
      y_ += kLineHeight;
    }
  }
  void operator()(const analyzer::BlankLine& /*blank*/) { y_ += kLineHeight / 2; }
  void operator()(const analyzer::Fold& fold) {
    line(fold.summary, 0, {.font = Font::kBold}, kLineHeight);
    for (const analyzer::Block& block : fold.inside.blocks) std::visit(*this, block);
  }
  // Bars and commands: their lines of text.
  template <typename Other>
  void operator()(const Other& block) {
    const std::string text = analyzer::write_text({{block}});
    for (size_t from = 0; from < text.size();) {
      const size_t end = std::min(text.find('\n', from), text.size());
      line(text.substr(from, end - from), 0, {.font = Font::kMono}, kLineHeight);
      from = end + 1;
    }
  }

 private:
  void line(std::string text, int indent, TextStyle style, int height) {
    list_.text({x_ + indent, y_, width_ - indent, height},
               elided(text, width_ - indent, style.font, measure_), style);
    y_ += height;
  }
  void lines(const std::string& text, int indent, TextStyle style) {
    y_ = draw_wrapped(analyzer::printable(text), {x_ + indent, y_}, width_ - indent, kLineHeight,
                      style, measure_, list_);
  }
  void spans(const std::vector<analyzer::Span>& spans, int indent) {
    int x = x_ + indent;
    for (const analyzer::Span& span : spans) {
      const Font font = span.style == Style::kPlain ? Font::kBody : Font::kBold;
      const std::string text = elided(span.text, x_ + width_ - x, font, measure_);
      const int wide = measure_.width(text, font);
      list_.text({x, y_, wide, kLineHeight}, text, {.role = role_of(span.style), .font = font});
      x += wide;
    }
    y_ += kLineHeight;
  }

  [[nodiscard]] static Font font_of(const analyzer::Span& span, analyzer::Align align) {
    const bool strong = span.style == Style::kStrong;
    if (align == analyzer::Align::kRight) return strong ? Font::kMonoBold : Font::kMono;
    return strong ? Font::kBold : Font::kBody;
  }
  [[nodiscard]] std::vector<int> widths_of(const analyzer::Table& table) const {
    std::vector<int> widths;
    for (size_t c = 0; c < table.columns.size(); ++c) {
      const analyzer::Table::Column& column = table.columns[c];
      int width = measure_.width(column.title, Font::kSmall);
      for (const std::vector<analyzer::Span>& row : table.rows) {
        if (c >= row.size()) continue;
        const auto bar = static_cast<int>(analyzer::eighths_of_bar(row[c].text));
        width =
            std::max(width, bar > 0 ? bar * kBarUnit
                                    : measure_.width(row[c].text, font_of(row[c], column.align)));
      }
      widths.push_back(std::min(width, kWidestCell));
    }
    return widths;
  }
  void cell(const analyzer::Span& span, analyzer::Align align, int x, int width, Font font) {
    if (const size_t eighths = analyzer::eighths_of_bar(span.text); eighths > 0) {
      list_.rect({x, y_ + (kLineHeight - kBarThickness) / 2, static_cast<int>(eighths) * kBarUnit,
                  kBarThickness},
                 span.style == Style::kFaint ? Role::kTextFaint : role_of(span.style), {}, 0, 2);
      return;
    }
    const bool right = align == analyzer::Align::kRight;
    list_.text(
        {x, y_, width, kLineHeight}, elided(analyzer::printable(span.text), width, font, measure_),
        {.role = role_of(span.style), .font = font, .align = right ? Align::kRight : Align::kLeft});
  }

  int x_;
  int y_;
  int width_;
  const TextMeasure& measure_;
  DrawList& list_;
};

}  // namespace

int draw_document(const analyzer::Document& document, Point at, int width,
                  const TextMeasure& measure, DrawList& list) {
  DocumentPainter painter(at, width, measure, list);
  for (const analyzer::Block& block : document.blocks) std::visit(painter, block);
  return painter.y();
}

Role role_of(analyzer::Style style) {
  switch (style) {
    case Style::kPlain:
    case Style::kStrong:
      return Role::kText;
    case Style::kFaint:
      return Role::kTextDim;
    case Style::kGood:
    case Style::kBar:
    case Style::kAccent:
      return Role::kAccent;
    case Style::kWarn:
      return Role::kWarnText;
    case Style::kBad:
      return Role::kProblem;
  }
  return Role::kText;
}

}  // namespace dprof::view
