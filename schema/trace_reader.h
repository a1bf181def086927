// SPDX-License-Identifier: Apache-2.0
// Reads one rank's trace, also while it is being written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/database.h"
#include "schema/generated/rows.h"

namespace dprof::schema {

// Invariant  the file is a dprof trace of a version that this dprof understands; every declared
// column is there. Threading  one thread at a time; open one reader per thread. Errors kNotFound,
// kNotATrace (empty, text, foreign application_id), kTraceTooNew, kDamaged (truncated, missing
//            table or column), each with file and hint.
class TraceReader {
 public:
  static Result<TraceReader> open(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const { return database_.path(); }
  [[nodiscard]] std::optional<std::string> meta(std::string_view key) const;  // nullopt = unknown
  [[nodiscard]] std::optional<int64_t> meta_int(std::string_view key) const;

  // Texts by id, index 0 is "". Read once and kept.
  [[nodiscard]] const std::vector<std::string>& strings() const { return strings_; }
  [[nodiscard]] const std::string& string(int64_t id) const;  // "" for an id that is not there

  // Visits the rows of one table in rowid order: constant memory. `where` is SQL after WHERE, empty
  // for all rows.
  template <typename Row, typename Visit>
  Status for_each(Visit&& visit, std::string_view where = {}) const;

  template <typename Row>
  Result<std::vector<Row>> read_all(std::string_view where = {}) const;

  // Rows of one table, by COUNT(*).
  Result<int64_t> count(std::string_view table) const;

 private:
  TraceReader(Database database, int64_t version)
      : database_(std::move(database)), version_(version) {}
  Result<Statement> select(const Table& table, std::string_view where) const;

  Database database_;
  int64_t version_;  // schema version of the file
  std::vector<std::string> strings_;
};

// --- implementation ---

namespace internal {

inline void read_field(const Statement& s, int column, int64_t& field) {
  field = s.integer(column);
}
inline void read_field(const Statement& s, int column, std::string& field) {
  field = s.text(column);
}
inline void read_field(const Statement& s, int column, std::optional<int64_t>& field) {
  field = s.optional_integer(column);
}
inline void read_field(const Statement& s, int column, std::optional<std::string>& field) {
  field = s.is_null(column) ? std::nullopt : std::optional(std::string(s.text(column)));
}
template <typename Enum>
requires std::is_enum_v<Enum>
void read_field(const Statement& s, int column, Enum& field) {
  field = static_cast<Enum>(s.integer(column));
}
template <typename Enum>
requires std::is_enum_v<Enum>
void read_field(const Statement& s, int column, std::optional<Enum>& field) {
  const std::optional<int64_t> value = s.optional_integer(column);
  field = value ? std::optional(static_cast<Enum>(*value)) : std::nullopt;
}

}  // namespace internal

template <typename Row, typename Visit>
Status TraceReader::for_each(Visit&& visit, std::string_view where) const {
  Result<Statement> statement = select(Row::kTable, where);
  if (!statement.ok()) return fail(statement.error());
  Row row;
  while (true) {
    const Result<bool> more = statement->step();
    if (!more.ok()) return fail(more.error());
    if (!*more) return Done{};
    int column = 0;
    for_each_field(row, [&](auto& field) { internal::read_field(*statement, column++, field); });
    visit(static_cast<const Row&>(row));
  }
}

template <typename Row>
Result<std::vector<Row>> TraceReader::read_all(std::string_view where) const {
  std::vector<Row> rows;
  const Status status = for_each<Row>([&](const Row& row) { rows.push_back(row); }, where);
  if (!status.ok()) return fail(status.error());
  return rows;
}

}  // namespace dprof::schema
