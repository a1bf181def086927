// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analyzer/render/layout.h"
#include "analyzer/render/writers.h"

namespace dprof::analyzer {
namespace {

constexpr std::string_view kReset = "\x1b[0m";
constexpr size_t kIndent = 2;  // of a section's lines
constexpr size_t kColumnGap = 2;
constexpr size_t kLabelWidth = 13;
constexpr size_t kNarrowest = 30;  // the least width of a paragraph
// Width of a whole bar, in wide and in narrow texts.
constexpr size_t kWideBar = 32;
constexpr size_t kNarrowBar = 20;
constexpr size_t kWideText = 96;

// In the order of Style.
constexpr std::array<std::string_view, 8> kEscapes = {
    "", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[33m", "\x1b[1;31m", "\x1b[36m", "\x1b[35m"};

std::string blanks(size_t count) { return std::string(count, ' '); }

// Removes blanks at the ends of lines, also before a final colour sequence.
std::string without_trailing_blanks(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.size(), text.find('\n', at));
    std::string_view line = text.substr(at, end - at);
    const bool reset = line.ends_with(kReset);
    if (reset) line.remove_suffix(kReset.size());
    while (line.ends_with(' ')) line.remove_suffix(1);
    result += line;
    if (reset) result += kReset;
    if (end < text.size()) result += '\n';
    at = end + 1;
  }
  return result;
}

std::vector<size_t> widths_of(const Table& table) {
  std::vector<size_t> widths;
  for (const Table::Column& column : table.columns)
    widths.push_back(display_width(printable(column.title)));
  for (const std::vector<Span>& row : table.rows) {
    for (size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], display_width(printable(row[c].text)));
  }
  return widths;
}

class TextWriter {
 public:
  explicit TextWriter(const TextShape& shape) : shape_(shape) {}

  std::string write(const Document& document) {
    write_all(document);
    return without_trailing_blanks(text_);
  }

  void operator()(const Heading& heading);
  void operator()(const FactList& facts);
  void operator()(const Paragraph& paragraph);
  void operator()(const SingleLine& line) { text_ += painted(line.spans) + '\n'; }
  void operator()(const List& list);
  void operator()(const Table& table);
  void operator()(const Bars& bars);
  void operator()(const Commands& code);
  void operator()(const BlankLine&) { gap(); }
  void operator()(const Fold& fold) {
    (*this)(Paragraph{.text = fold.summary, .style = Style::kStrong});
    write_all(fold.inside);
  }

 private:
  void write_all(const Document& document) {
    for (const Block& block : document.blocks) std::visit(*this, block);
  }
  void gap() {
    if (!text_.empty()) text_ += '\n';
  }
  [[nodiscard]] std::string paint(Style style, std::string_view text) const {
    if (!shape_.colour || style == Style::kPlain || text.empty()) return std::string(text);
    return fmt::format("{}{}{}", kEscapes[static_cast<size_t>(style)], text, kReset);
  }
  [[nodiscard]] std::string painted(const std::vector<Span>& spans) const {
    std::string text;
    for (const Span& span : spans) text += paint(span.style, printable(span.text));
    return text;
  }
  void table_line(const Table& table, const std::vector<size_t>& widths,
                  const std::vector<Span>& cells, Style style);
  void notes(const std::vector<std::string>& notes, size_t column);

  TextShape shape_;
  std::string text_;
};

void TextWriter::operator()(const Heading& heading) {
  gap();
  text_ += paint(heading.style, printable(heading.title));
  if (!heading.remark.empty())
    text_ += "   " + paint(heading.remark_style, printable(heading.remark));
  text_ += '\n';
}

void TextWriter::operator()(const FactList& facts) {
  for (const Fact& fact : facts.facts) {
    const std::string label = printable(fact.label);
    const bool fits = display_width(label) + 2 <= kLabelWidth;
    text_ += paint(fact.style, fits ? pad_right(label, kLabelWidth) : label) + (fits ? "" : "   ");
    if (fact.fit == Fact::Fit::kWhole) {
      text_ += painted(fact.said) + '\n';
      continue;
    }
    std::string said;
    for (const Span& span : fact.said) said += printable(span.text);
    const bool cut = fact.fit == Fact::Fit::kCut;
    const std::vector<std::string> lines =
        wrapped(said, shape_.width - kLabelWidth - (cut ? 2 : 0));
    if (cut) {
      text_ += lines.front() + (lines.size() > 1 ? " …\n" : "\n");
      continue;
    }
    for (size_t i = 0; i < lines.size(); ++i)
      text_ += (i > 0 ? blanks(kLabelWidth) : "") + lines[i] + '\n';
  }
}

void TextWriter::operator()(const Paragraph& paragraph) {
  const std::string tail = printable(paragraph.tail);
  const size_t indent = display_width(paragraph.lead);
  const size_t tail_width = tail.empty() ? 0 : display_width(tail) + kColumnGap;
  const size_t room =
      std::max(shape_.width, indent + tail_width + kNarrowest) - indent - tail_width;
  const std::vector<std::string> lines = wrapped(printable(paragraph.text), room);
  const bool one_style = paragraph.lead_style == paragraph.style;
  text_ += one_style ? paint(paragraph.style, paragraph.lead + lines.front())
                     : paint(paragraph.lead_style, paragraph.lead) +
                           paint(paragraph.style, lines.front());
  if (!tail.empty()) {
    const size_t used = indent + display_width(lines.front());
    text_ += paint(Style::kFaint, pad_left(tail, std::max(used + tail_width, shape_.width) - used));
  }
  text_ += '\n';
  for (size_t i = 1; i < lines.size(); ++i)
    text_ += blanks(indent) + paint(paragraph.style, lines[i]) + '\n';
}

void TextWriter::operator()(const List& list) {
  for (const Item& item : list.items) {
    (*this)(Paragraph{.text = item.text,
                      .style = item.style,
                      .lead = fmt::format("  {}  ", item.mark),
                      .lead_style = item.mark_style});
  }
}

void TextWriter::table_line(const Table& table, const std::vector<size_t>& widths,
                            const std::vector<Span>& cells, Style style) {
  std::string line = blanks(kIndent);
  for (size_t c = 0; c < cells.size(); ++c) {
    if (c > 0) line += blanks(kColumnGap);
    const std::string cell = printable(cells[c].text);
    const bool left = table.columns[c].align == Align::kLeft;
    line += paint(cells[c].style, left ? pad_right(cell, widths[c]) : pad_left(cell, widths[c]));
  }
  line.erase(line.find_last_not_of(' ') + 1);
  text_ += paint(style, line) + '\n';
}

void TextWriter::operator()(const Table& table) {
  const std::vector<size_t> widths = widths_of(table);
  std::vector<Span> titles;
  for (const Table::Column& column : table.columns) titles.push_back({column.title});
  table_line(table, widths, titles, Style::kFaint);
  for (const std::vector<Span>& row : table.rows) table_line(table, widths, row, Style::kPlain);
}

void TextWriter::operator()(const Bars& bars) {
  const size_t whole = shape_.width >= kWideText ? kWideBar : kNarrowBar;
  size_t title_width = 0;
  size_t bar_width = 0;
  for (const Bars::Part& part : bars.parts) {
    title_width = std::max(title_width, display_width(part.title));
    bar_width = std::max(bar_width, display_width(bar(part.share, whole)));
  }
  for (const Bars::Part& part : bars.parts) {
    const std::string percent = part.share < 0.005 ? "<1" : fmt::format("{:.0f}", part.share * 100);
    const std::string figures =
        fmt::format("  {}  {}  {:>3} %  ", pad_right(part.title, title_width),
                    pad_left(part.value, 9), percent);
    const std::string picture = bar(part.share, whole);
    text_ += figures + paint(part.style, picture);
    if (!part.notes.empty()) {
      const size_t column = display_width(figures) + bar_width + kColumnGap;
      text_ += blanks(column - display_width(figures) - display_width(picture));
      notes(part.notes, column);
    }
    text_ += '\n';
  }
}

// Next to a bar; notes that do not fit begin a new line.
void TextWriter::notes(const std::vector<std::string>& notes, size_t column) {
  size_t at = column;
  for (size_t i = 0; i < notes.size(); ++i) {
    const std::string note = (i > 0 ? "· " : "") + printable(notes[i]);
    if (i > 0 && at + 1 + display_width(note) > shape_.width) {
      text_ += '\n' + blanks(column);
      at = column;
    } else if (i > 0) {
      text_ += ' ';
      ++at;
    }
    text_ += paint(Style::kFaint, note);
    at += display_width(note);
  }
}

// An overlong command is broken after its path and at blanks of its SQL, which ignores line ends.
void TextWriter::operator()(const Commands& code) {
  for (const std::string& command : code.lines) {
    const std::string whole = blanks(kIndent) + printable(command);
    const size_t sql = whole.rfind(" \"SELECT");
    if (display_width(whole) <= shape_.width || sql == std::string::npos) {
      text_ += whole + '\n';
      continue;
    }
    text_ += whole.substr(0, sql) + " \\\n";
    for (const std::string& line : wrapped(whole.substr(sql + 1), shape_.width - 2 * kIndent))
      text_ += blanks(2 * kIndent) + line + '\n';
  }
}

}  // namespace

size_t text_width(const Table& table) {
  size_t total = kIndent;
  for (const size_t width : widths_of(table)) total += width + kColumnGap;
  return total - (table.columns.empty() ? 0 : kColumnGap);
}

std::string write_text(const Document& document, const TextShape& shape) {
  return TextWriter(shape).write(document);
}

}  // namespace dprof::analyzer
