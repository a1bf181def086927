// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analyzer/render/layout.h"
#include "analyzer/render/writers.h"

namespace dprof::analyzer {
namespace {

constexpr std::string_view kMarkup = "\\`*_{}[]#|<>~@&";

// Within a line of Markdown.
std::string escaped_markdown(std::string_view text) {
  std::string safe;
  for (const char c : printable(text)) {
    if (kMarkup.find(c) != std::string_view::npos) safe += '\\';
    safe += c;
  }
  return safe;
}

// Within a tag of HTML, where a backslash escapes nothing.
std::string escaped_in_tag(std::string_view text) {
  std::string safe;
  for (const char c : printable(text)) {
    const bool plain = kMarkup.find(c) == std::string_view::npos && c != '"' && c != '\'';
    safe += plain ? std::string(1, c) : fmt::format("&#{};", static_cast<int>(c));
  }
  return safe;
}

// "<0.1" begins no tag.
bool is_small_figure(std::string_view text) {
  return text.size() > 1 && text[0] == '<' && text[1] >= '0' && text[1] <= '9' &&
         text.find_first_of(kMarkup, 1) == std::string_view::npos;
}

std::string with_style(const std::string& safe, Style style) {
  return style == Style::kStrong ? fmt::format("**{}**", safe) : safe;
}

std::string marked(const Span& span) { return with_style(escaped_markdown(span.text), span.style); }

std::string line_of(const std::vector<Span>& spans) {
  std::string line;
  for (const Span& span : spans) line += marked(span);
  return line;
}

std::string cell_of(const Span& span) {
  return is_small_figure(span.text) ? with_style(span.text, span.style) : marked(span);
}

// Each block writes whole lines, with a blank one between two.
class MarkdownWriter {
 public:
  std::string write(const Document& document) {
    write_all(document);
    return std::move(text_);
  }

  void operator()(const Heading& heading) {
    line(std::string(static_cast<size_t>(heading.level), '#') + ' ' +
         escaped_markdown(heading.title));
    if (!heading.remark.empty()) line('\n' + escaped_markdown(heading.remark));
  }
  void operator()(const FactList& facts) {
    for (const Fact& fact : facts.facts)
      line(fmt::format("- {}: {}", escaped_markdown(fact.label), line_of(fact.said)));
  }
  void operator()(const Paragraph& p) {
    const size_t lead = p.lead.find_first_not_of(' ');
    std::string said = lead == std::string::npos ? "" : marked({p.lead.substr(lead), p.lead_style});
    said += marked({p.text, p.style});
    line(p.tail.empty() ? said : fmt::format("{} ({})", said, escaped_markdown(p.tail)));
  }
  void operator()(const SingleLine& one) { line(line_of(one.spans)); }
  void operator()(const List& list) {
    for (const Item& item : list.items) {
      const std::string mark = item.mark == "·" ? "" : escaped_markdown(item.mark) + ' ';
      line(fmt::format("- {}{}", mark, escaped_markdown(item.text)));
    }
  }
  void operator()(const Table& table) {
    std::vector<std::string> titles;
    std::vector<std::string> rule;
    for (const Table::Column& column : table.columns) {
      titles.push_back(escaped_markdown(column.title));
      rule.emplace_back(column.align == Align::kRight ? "---:" : "---");
    }
    row(titles);
    row(rule);
    for (const std::vector<Span>& spans : table.rows) {
      std::vector<std::string> cells;
      for (const Span& span : spans) cells.push_back(cell_of(span));
      row(cells);
    }
  }
  void operator()(const Bars& bars) {
    for (const Bars::Part& part : bars.parts) {
      line(fmt::format("- {}: {}, {:.0f} %", escaped_markdown(part.title),
                       escaped_markdown(part.value), part.share * 100));
    }
  }
  void operator()(const Commands& code) {
    line("```sh");
    for (const std::string& command : code.lines) line(printable(command));
    line("```");
  }
  void operator()(const BlankLine&) {}
  void operator()(const Fold& fold) {
    line(fmt::format("<details><summary>{}</summary>\n", escaped_in_tag(fold.summary)));
    write_all(fold.inside);
    line("\n</details>");
  }

 private:
  void write_all(const Document& document) {
    for (size_t i = 0; i < document.blocks.size(); ++i) {
      if (i > 0) line();
      std::visit(*this, document.blocks[i]);
    }
  }
  void line(std::string_view content = {}) { text_ += fmt::format("{}\n", content); }
  void row(const std::vector<std::string>& cells) {
    line(fmt::format("| {} |", fmt::join(cells, " | ")));
  }

  std::string text_;
};

}  // namespace

std::string write_markdown(const Document& document) { return MarkdownWriter().write(document); }

}  // namespace dprof::analyzer
