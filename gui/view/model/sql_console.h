// SPDX-License-Identifier: Apache-2.0
// The state of the dock SQL: the statement being written, earlier statements, and the last answer.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/sql/sql_query.h"
#include "base/time.h"

namespace dprof::view {

using SharedSqlResult = std::shared_ptr<const analyzer::SqlResult>;

// The ranks that a statement queries.
enum class SqlRanks : uint8_t { kAll, kChosen };

inline constexpr size_t kMostRemembered = 100;  // statements

class SqlConsole {
 public:
  [[nodiscard]] const std::string& text() const { return text_; }
  void write(std::string text);
  // Earlier statements, the latest last.
  [[nodiscard]] const std::vector<std::string>& history() const { return history_; }
  // Moves to the previous (by < 0) or next statement; after the last one comes the unfinished
  // draft. False if there is none.
  bool walk_history(int by);
  void restore(std::string text, std::vector<std::string> history);

  [[nodiscard]] SqlRanks ranks() const { return ranks_; }
  void ask_of(SqlRanks ranks) { ranks_ = ranks; }

  // The text is being run: adds it to the history.
  void begin();
  void cancel() { asking_ = false; }
  // `took`: nullopt = not shown.
  void take(analyzer::SqlAnswer answer, std::optional<DurationNs> took);
  // The run was read again: the result belongs to its earlier state.
  void grow_stale() { stale_ = result_ != nullptr; }

  [[nodiscard]] bool is_asking() const { return asking_; }
  // The last successful result, which an error keeps; nullptr = none yet.
  [[nodiscard]] const SharedSqlResult& result() const { return result_; }
  [[nodiscard]] const std::string& result_text() const { return result_text_; }  // that led to it
  [[nodiscard]] std::optional<DurationNs> took() const { return took_; }
  [[nodiscard]] bool is_stale() const { return stale_; }
  // The reason why the last statement has no result.
  [[nodiscard]] const std::optional<analyzer::SqlError>& error() const { return error_; }
  [[nodiscard]] const std::string& error_text() const { return error_text_; }
  // For each column of the result one of its longest cells, to measure.
  [[nodiscard]] const std::vector<std::string>& longest_cells() const { return longest_; }

  // The last chosen line of the result.
  [[nodiscard]] std::optional<size_t> line() const { return line_; }
  void choose(std::optional<size_t> line) { line_ = line; }

 private:
  std::string text_;
  std::vector<std::string> history_;
  size_t at_ = 0;      // in the history; its size = behind it
  std::string draft_;  // the draft after the last entry
  SqlRanks ranks_ = SqlRanks::kAll;
  bool asking_ = false;
  std::string asked_;
  SharedSqlResult result_;
  std::string result_text_;
  std::vector<std::string> longest_;
  std::optional<DurationNs> took_;
  bool stale_ = false;
  std::optional<analyzer::SqlError> error_;
  std::string error_text_;
  std::optional<size_t> line_;
};

// A cell as displayed: "NULL", "12", "0.5", the text in one line, "blob, 12 B".
[[nodiscard]] std::string cell_text(const analyzer::SqlValue& value);

// A result as tab-separated values with a header.
[[nodiscard]] std::string result_as_text(const analyzer::SqlResult& result);

// A name for a statement: its leading comment, else its beginning.
[[nodiscard]] std::string title_of_statement(std::string_view text);

}  // namespace dprof::view
