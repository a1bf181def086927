// SPDX-License-Identifier: Apache-2.0
// Runs one user-written statement on a connection of its own that can only read one file.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/sql_value.h"

struct sqlite3;
struct sqlite3_stmt;

namespace dprof::schema {

// A column of the answer. If its values come from a table: the table, and the column's name there.
struct QueryColumn {
  std::string name;
  std::string table;
  std::string origin;
};

// Read-only three times over: the file is opened read-only, SQLite asks for permission before
// everything that a statement would do, and a statement that could write is refused. No other file
// can be reached (no ATTACH, no VACUUM INTO, no extension), no text or blob can be larger than
// kMostValueBytes, and sorting uses temporary files.
//
// Threading  one thread at a time.
class ReadQuery {
 public:
  static constexpr int kMostValueBytes = 16 << 20;
  static constexpr int kMostColumns = 200;

  // `is_unwanted` is called some thousand times a second while the statement runs; true ends it.
  static Result<ReadQuery> open(const std::filesystem::path& trace,
                                std::function<bool()> is_unwanted = {});
  ReadQuery(ReadQuery&&) noexcept;
  ReadQuery& operator=(ReadQuery&&) noexcept;
  ~ReadQuery();

  // Exactly one statement, which can end with a semicolon. An error with code kUsage is about the
  // text.
  Status prepare(std::string_view text);
  // Position of prepare()'s error in the text, in bytes; nullopt = not known.
  [[nodiscard]] std::optional<size_t> error_offset() const { return error_offset_; }
  [[nodiscard]] std::vector<QueryColumn> columns() const;

  // True: a row is available. False: done.
  Result<bool> step();
  [[nodiscard]] SqlValue value(int column) const;

 private:
  struct Guard;  // SQLite's callback state, at a stable address
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  using OwnedStatement = std::unique_ptr<sqlite3_stmt, Finalize>;

  ReadQuery(std::filesystem::path path, std::unique_ptr<Guard> guard);
  [[nodiscard]] Status check_trace() const;
  Status finish_prepare(std::string_view text, std::string_view rest);
  [[nodiscard]] Error error() const;

  std::filesystem::path path_;
  // In this order: the statement is destroyed before its connection, and that before its callback.
  std::unique_ptr<Guard> guard_;
  std::unique_ptr<sqlite3, Close> handle_;
  OwnedStatement statement_;
  std::optional<size_t> error_offset_;
};

}  // namespace dprof::schema
