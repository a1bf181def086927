// SPDX-License-Identifier: Apache-2.0
// The tables of an Nsight Systems export. Columns move between versions, and tables without rows
// are left out: everything is found by name, and missing data reads as NULL.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "schema/database.h"

namespace dprof::analyzer::nsys {

// A row of a scan: columns by their position in the requested list.
class Row {
 public:
  explicit Row(const schema::Statement& statement) : statement_(statement) {}

  [[nodiscard]] std::optional<int64_t> operator[](int column) const {
    return statement_.optional_integer(column);
  }
  [[nodiscard]] bool has(int column) const { return !statement_.is_null(column); }
  [[nodiscard]] double real(int column) const { return statement_.real(column); }
  [[nodiscard]] std::string_view text(int column) const { return statement_.text(column); }

 private:
  const schema::Statement& statement_;
};

// Threading  one thread.
class Tables {
 public:
  // kNotATrace: SQLite, but not an export of Nsight Systems. kDamaged.
  static Result<Tables> open(const std::filesystem::path& path);

  [[nodiscard]] bool has(std::string_view table) const { return columns_.contains(table); }
  [[nodiscard]] bool has(std::string_view table, std::string_view column) const;
  [[nodiscard]] std::vector<std::string> names() const;

  // Visits all rows of an existing table until `visit` (bool(const Row&)) returns false. On
  // failure, which means damage, the rows before it were visited.
  template <typename Visit>
  Status each(std::string_view table, std::span<const std::string_view> columns, Visit&& visit,
              std::string_view condition = {}) const {
    if (!has(table)) return Done{};
    Result<schema::Statement> rows = scan(table, columns, condition);
    if (!rows.ok()) return fail(Code::kDamaged, without_path(rows.error().what));
    const Row row(*rows);
    for (int64_t seen = 0; seen <= most_rows_; ++seen) {
      const Result<bool> more = rows->step();
      if (!more.ok()) return fail(Code::kDamaged, without_path(more.error().what));
      if (!*more || !visit(row)) return Done{};
    }
    return fail(Code::kDamaged, "it has more rows than the file has room for");
  }

  // Reads the table StringIds; after a failure, string() has the rows before it.
  Status load_strings();
  // "" = missing.
  [[nodiscard]] std::string_view string(std::optional<int64_t> id) const;

  // The highest row id of a table: an estimate, as the number of rows is known only at the end.
  [[nodiscard]] int64_t about_rows(std::string_view table) const;

 private:
  Tables(schema::Database database, int64_t most_rows)
      : database_(std::move(database)), most_rows_(most_rows) {}
  Status read_catalogue();
  [[nodiscard]] std::string without_path(const std::string& what) const;
  // A missing column is NULL in each row.
  [[nodiscard]] Result<schema::Statement> scan(std::string_view table,
                                               std::span<const std::string_view> columns,
                                               std::string_view condition) const;

  schema::Database database_;
  int64_t most_rows_;  // upper bound of a table's rows: a larger count means a loop
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> columns_;
  std::unordered_map<int64_t, std::string> strings_;
};

}  // namespace dprof::analyzer::nsys
