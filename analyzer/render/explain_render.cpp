// SPDX-License-Identifier: Apache-2.0
// An explanation as text and as Markdown.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analyzer/render/explain.h"
#include "analyzer/render/layout.h"
#include "analyzer/render/markdown_words.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kPointIndent = 5;

bool is_number(std::string_view cell) {
  return !cell.empty() && cell.find_first_of("0123456789") <= 1 &&
         cell.find_first_of("/_") == std::string_view::npos;
}

// Columns of numbers stand to the right.
bool is_right(const std::vector<std::vector<std::string>>& table, size_t column) {
  return std::all_of(table.begin() + 1, table.end(), [&](const std::vector<std::string>& row) {
    return row[column].empty() || is_number(row[column]);
  });
}

std::string table_text(const std::vector<std::vector<std::string>>& rows, const Painter& paint) {
  TextTable table;
  for (size_t c = 0; c < rows.front().size(); ++c) {
    table.add_column(rows.front()[c],
                     is_right(rows, c) ? TextTable::Align::kRight : TextTable::Align::kLeft);
  }
  for (size_t r = 1; r < rows.size(); ++r) {
    std::vector<std::string> cells;
    for (const std::string& cell : rows[r]) cells.push_back(printable(cell));
    table.add_row(std::move(cells));
  }
  return table.render(kIndent, paint);
}

// A command that is too long is broken after its path and at blanks of its SQL, which minds no line
// ends.
std::string command_text(const std::string& command, size_t width) {
  const std::string indent(kIndent, ' ');
  const std::string whole = indent + printable(command);
  const size_t sql = whole.rfind(" \"SELECT");
  if (display_width(whole) <= width || sql == std::string::npos) return whole + '\n';
  std::string text = whole.substr(0, sql) + " \\\n";
  for (const std::string& line : wrapped(whole.substr(sql + 1), width - 2 * kIndent))
    text += indent + indent + line + '\n';
  return text;
}

}  // namespace

std::string render_text(const Explanation& e, const TextOptions& options) {
  const auto width = static_cast<size_t>(std::clamp(options.width, 80, 120));
  const Painter paint(options.colour);
  std::string text = fmt::format(
      "{}   {}\n", paint(Style::kStrong, fmt::format("FINDING {} OF {}", e.number, e.of)),
      paint(Style::kFaint, printable(e.about)));
  const auto paragraph = [&](std::string_view lead, std::string_view content, Style style) {
    text += paragraph_of(lead, printable(content), display_width(lead), width, paint, style);
  };
  paragraph("  ", e.title, Style::kStrong);
  if (!e.detail.empty()) paragraph("  ", e.detail, Style::kPlain);
  if (!e.advice.empty()) paragraph("  → ", e.advice, Style::kPlain);
  for (const ExplainedPart& part : e.parts) {
    text += '\n' + paint(Style::kStrong, part.title) + '\n';
    if (!part.table.empty()) text += table_text(part.table, paint);
    for (const std::string& point : part.points) {
      text += paragraph_of("  ·  ", printable(point), kPointIndent, width, paint, Style::kPlain);
    }
    for (const std::string& command : part.commands) text += command_text(command, width);
  }
  return without_trailing_blanks(text);
}

std::string render_markdown(const Explanation& e) {
  std::string text = fmt::format("### dprof: finding {} of {}\n\n**{}**\n\n{}\n", e.number, e.of,
                                 escaped_markdown(e.title), escaped_markdown(e.about));
  if (!e.detail.empty()) text += fmt::format("\n{}\n", escaped_markdown(e.detail));
  if (!e.advice.empty()) text += fmt::format("\n→ {}\n", escaped_markdown(e.advice));
  for (const ExplainedPart& part : e.parts) {
    text += fmt::format("\n#### {}\n\n", escaped_markdown(part.title));
    for (size_t r = 0; r < part.table.size(); ++r) {
      std::vector<std::string> cells;
      std::vector<std::string> rule;
      for (size_t c = 0; c < part.table[r].size(); ++c) {
        cells.push_back(escaped_markdown(part.table[r][c]));
        rule.emplace_back(is_right(part.table, c) ? "---:" : "---");
      }
      text += fmt::format("| {} |\n", fmt::join(cells, " | "));
      if (r == 0) text += fmt::format("| {} |\n", fmt::join(rule, " | "));
    }
    if (!part.table.empty() && !part.points.empty()) text += '\n';
    for (const std::string& point : part.points)
      text += fmt::format("- {}\n", escaped_markdown(point));
    if (part.commands.empty()) continue;
    text += "\n```sh\n";
    for (const std::string& command : part.commands) text += printable(command) + '\n';
    text += "```\n";
  }
  return text;
}

}  // namespace dprof::analyzer
