// SPDX-License-Identifier: Apache-2.0
#include "gui/view/model/sql_console.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analyzer/render/layout.h"
#include "base/format.h"
#include "gui/view/drawing/texts.h"

namespace dprof::view {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

std::string_view trimmed_statement(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// At most so many bytes, of whole letters.
std::string cut(std::string text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  text.resize(most);
  return text + "…";
}

std::vector<std::string> longest_of(const analyzer::SqlResult& result) {
  std::vector<std::string> longest;
  for (const analyzer::SqlColumn& column : result.columns) longest.push_back(column.name);
  for (const std::vector<analyzer::SqlValue>& row : result.rows) {
    for (size_t c = 0; c < row.size(); ++c) {
      std::string cell = cell_text(row[c]);
      if (cell.size() > longest[c].size()) longest[c] = std::move(cell);
    }
  }
  return longest;
}

}  // namespace

void SqlConsole::write(std::string text) {
  if (text == text_) return;
  text_ = std::move(text);
  at_ = history_.size();
  draft_ = text_;
}

bool SqlConsole::walk_history(int by) {
  const auto next = static_cast<int64_t>(at_) + by;
  if (next < 0 || next > static_cast<int64_t>(history_.size())) return false;
  if (at_ == history_.size()) draft_ = text_;
  at_ = static_cast<size_t>(next);
  text_ = at_ == history_.size() ? draft_ : history_[at_];
  return true;
}

void SqlConsole::restore(std::string text, std::vector<std::string> history) {
  history_ = std::move(history);
  if (history_.size() > kMostRemembered)
    history_.erase(history_.begin(), history_.end() - kMostRemembered);
  at_ = history_.size();
  text_ = std::move(text);
  draft_ = text_;
}

void SqlConsole::begin() {
  asked_ = text_;
  asking_ = true;
  if (trimmed_statement(text_).empty()) return;
  std::erase(history_, text_);
  history_.push_back(text_);
  if (history_.size() > kMostRemembered) history_.erase(history_.begin());
  at_ = history_.size() - 1;
  draft_.clear();
}

void SqlConsole::take(analyzer::SqlAnswer answer, std::optional<DurationNs> took) {
  asking_ = false;
  error_.reset();
  if (auto* error = std::get_if<analyzer::SqlError>(&answer)) {
    error_ = std::move(*error);
    error_text_ = asked_;
    return;
  }
  result_ =
      std::make_shared<const analyzer::SqlResult>(std::move(std::get<analyzer::SqlResult>(answer)));
  result_text_ = asked_;
  longest_ = longest_of(*result_);
  took_ = took;
  stale_ = false;
  line_.reset();
}

std::string cell_text(const analyzer::SqlValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  if (const auto* text = std::get_if<std::string>(&value)) {
    constexpr size_t kMostShown = 500;  // of what no column is wide enough for
    return analyzer::printable(cut(*text, kMostShown));
  }
  if (const auto* blob = std::get_if<analyzer::SqlBlob>(&value))
    return say("blob, {}", format_bytes(blob->bytes));
  return "NULL";
}

std::string result_as_text(const analyzer::SqlResult& result) {
  std::string text;
  for (size_t c = 0; c < result.columns.size(); ++c)
    text += (c == 0 ? "" : "\t") + analyzer::printable(result.columns[c].name);
  text += '\n';
  for (const std::vector<analyzer::SqlValue>& row : result.rows) {
    for (size_t c = 0; c < row.size(); ++c) {
      if (c > 0) text += '\t';
      if (const auto* whole = std::get_if<std::string>(&row[c])) {
        text += analyzer::printable(*whole);
      } else if (!std::holds_alternative<std::monostate>(row[c])) {
        text += cell_text(row[c]);
      }
    }
    text += '\n';
  }
  return text;
}

std::string title_of_statement(std::string_view text) {
  constexpr size_t kMost = 40;
  text = trimmed_statement(text);
  if (text.starts_with("--")) text = trimmed_statement(text.substr(2, text.find('\n') - 2));
  std::string title = analyzer::printable(text);
  const auto both_blank = [](char a, char b) { return a == ' ' && b == ' '; };
  title.erase(std::unique(title.begin(), title.end(), both_blank), title.end());
  return cut(std::move(title), kMost);
}

}  // namespace dprof::view
