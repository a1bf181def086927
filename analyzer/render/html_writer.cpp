// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <utility>

#include "analyzer/render/layout.h"
#include "analyzer/render/writers.h"
#include "base/format.h"

namespace dprof::analyzer {
namespace {

// In the order of Style.
constexpr std::array<std::string_view, 8> kClasses = {"",     "strong", "faint", "good",
                                                      "warn", "bad",    "bar",   "accent"};

std::string html_class(Style style) {
  const std::string_view name = kClasses[static_cast<size_t>(style)];
  return name.empty() ? "" : fmt::format(" class=\"{}\"", name);
}

std::string html_span(const Span& span) {
  const std::string text = escaped_markup(span.text);
  if (span.style == Style::kPlain) return text;
  if (span.style == Style::kStrong) return fmt::format("<b>{}</b>", text);
  return fmt::format("<span{}>{}</span>", html_class(span.style), text);
}

// Bars are drawn as graphics: fonts leave gaps between block characters.
std::string html_cell(const Span& cell) {
  const size_t eighths = eighths_of_bar(cell.text);
  if (eighths == 0) return html_span(cell);
  const std::string_view style = kClasses[static_cast<size_t>(cell.style)];
  return fmt::format("<i class=\"meter {}\" style=\"width:{}px\"></i>", style, eighths);
}

// Separates parts of a line by dots instead of gaps.
std::string with_dots(std::string text) {
  constexpr std::string_view kGap = "   ";
  for (size_t at = text.find(kGap); at != std::string::npos; at = text.find(kGap, at))
    text.replace(at, kGap.size(), " · ");
  return text;
}

std::string html_spans(const std::vector<Span>& spans) {
  std::string text;
  for (const Span& span : spans) text += html_span(span);
  return text;
}

std::string_view without_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// The class of a part of a bar: its category's, or its style's.
std::string bar_class(const Bars::Part& part) {
  return part.category ? fmt::format("c{}", static_cast<int>(*part.category)) : "rest";
}

class HtmlWriter {
 public:
  std::string write(const Document& document) {
    write_all(document);
    return std::move(text_);
  }

  void operator()(const Heading& heading) {
    line("<h2{}>{}</h2>", heading.style == Style::kStrong ? "" : html_class(heading.style),
         escaped_markup(calm_title(heading.title)));
    if (!heading.remark.empty()) line("<p class=\"remark\">{}</p>", escaped_markup(heading.remark));
  }
  void operator()(const FactList& facts) {
    line("<dl>");
    for (const Fact& fact : facts.facts) {
      line("<div><dt{}>{}</dt><dd>{}</dd></div>", html_class(fact.style),
           escaped_markup(fact.label), with_dots(html_spans(fact.said)));
    }
    line("</dl>");
  }
  void operator()(const Paragraph& p) {
    const std::string_view lead = without_blanks(p.lead);
    const bool names = !lead.empty() && std::isalnum(static_cast<unsigned char>(lead[0])) != 0;
    const Style style = names && p.lead_style == Style::kPlain ? Style::kStrong : p.lead_style;
    const std::string mark =
        lead.empty() ? "" : fmt::format("{} ", html_span({std::string(lead), style}));
    const std::string tail =
        p.tail.empty() ? ""
                       : fmt::format(" <span class=\"faint\">{}</span>", escaped_markup(p.tail));
    line("<p{}>{}{}{}</p>", html_class(p.style), mark, html_prose(p.text), tail);
  }
  void operator()(const SingleLine& one) { line("<p>{}</p>", html_spans(one.spans)); }
  void operator()(const List& list) {
    line("<ul>");
    for (const Item& item : list.items) {
      line("<li{}><span class=\"mark\">{}</span>{}</li>", html_class(item.style),
           escaped_markup(item.mark), html_prose(item.text));
    }
    line("</ul>");
  }
  void operator()(const Table& table) {
    const auto kind = [&](size_t column) {
      return table.columns[column].align == Align::kRight ? " class=\"n\"" : "";
    };
    line("<div class=\"wide\"><table>\n<thead><tr>");
    for (size_t c = 0; c < table.columns.size(); ++c)
      line("<th scope=\"col\"{}>{}</th>", kind(c), escaped_markup(table.columns[c].title));
    line("</tr></thead>\n<tbody>");
    for (const std::vector<Span>& row : table.rows) {
      text_ += "<tr>";
      for (size_t c = 0; c < row.size(); ++c)
        text_ += fmt::format("<td{}>{}</td>", kind(c), html_cell(row[c]));
      line("</tr>");
    }
    line("</tbody></table></div>");
  }
  // One bar of all parts, with their legend below.
  void operator()(const Bars& bars) {
    line("<div class=\"stack\" aria-hidden=\"true\">");
    for (const Bars::Part& part : bars.parts) {
      line("<i class=\"{}\" style=\"width:{:.2f}%\"></i>", bar_class(part),
           100 * std::clamp(part.share, 0.0, 1.0));
    }
    line("</div>\n<table class=\"parts\"><tbody>");
    for (const Bars::Part& part : bars.parts) {
      std::string notes;
      for (const std::string& note : part.notes) {
        if (!notes.empty()) notes += " · ";
        notes += escaped_markup(note);
      }
      line(
          "<tr><td><i class=\"swatch {}\"></i>{}</td><td class=\"n\">{}</td>"
          "<td class=\"n\">{}</td><td class=\"faint\">{}</td></tr>",
          bar_class(part), escaped_markup(part.title), escaped_markup(part.value),
          escaped_markup(format_share(part.share)), notes);
    }
    line("</tbody></table>");
  }
  void operator()(const Commands& code) {
    std::string text;
    for (const std::string& command : code.lines) text += escaped_markup(command) + '\n';
    line("<pre>{}</pre>", text);
  }
  void operator()(const BlankLine&) {}
  void operator()(const Fold& fold) {
    line("<details><summary>{}</summary>", escaped_markup(fold.summary));
    write_all(fold.inside);
    line("</details>");
  }

 private:
  void write_all(const Document& document) {
    for (const Block& block : document.blocks) std::visit(*this, block);
  }
  void line(std::string_view text) { text_.append(text).append("\n"); }
  template <typename... Arguments>
  requires(sizeof...(Arguments) > 0) void line(fmt::format_string<Arguments...> format,
                                               Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }

  std::string text_;
};

}  // namespace

std::string escaped_markup(std::string_view text) {
  std::string safe;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string calm_title(std::string_view title) {
  constexpr size_t kAbbreviation = 3;  // GPU
  const bool loud = title.size() > kAbbreviation && std::ranges::none_of(title, [](char c) {
                      return std::islower(static_cast<unsigned char>(c)) != 0;
                    });
  std::string text(title);
  if (!loud) return text;
  for (size_t i = 1; i < text.size(); ++i)
    text[i] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
  return text;
}

std::string write_html(const Document& document) { return HtmlWriter().write(document); }

std::string html_prose(std::string_view text) {
  std::string html;
  while (true) {
    const size_t open = text.find('`');
    const size_t close = open == std::string_view::npos ? open : text.find('`', open + 1);
    if (close == std::string_view::npos) return html + escaped_markup(text);
    html += escaped_markup(text.substr(0, open));
    html += fmt::format("<code>{}</code>", escaped_markup(text.substr(open + 1, close - open - 1)));
    text.remove_prefix(close + 1);
  }
}

}  // namespace dprof::analyzer
