// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/nsys/tables.h"

#include <fmt/format.h>

#include <utility>

namespace dprof::analyzer::nsys {
namespace {

namespace fs = std::filesystem;

std::string in_quotes(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

Failure unreadable(const fs::path& path, std::string_view why) {
  return fail(Code::kDamaged, fmt::format("{}: {}", path.string(), why),
              "export it again: nsys export --type sqlite FILE.nsys-rep");
}

}  // namespace

Result<Tables> Tables::open(const fs::path& path) {
  Result<schema::Database> database =
      schema::Database::open(path, schema::Database::Mode::kForeign);
  if (!database.ok()) return fail(database.error());
  std::error_code error;
  const auto bytes = static_cast<int64_t>(fs::file_size(path, error));
  constexpr int64_t kSmallestRow = 4;
  Tables tables(*std::move(database), error ? 0 : bytes / kSmallestRow);
  if (const Status read = tables.read_catalogue(); !read.ok())
    return unreadable(path, tables.without_path(read.error().what));
  const bool named = tables.has("META_DATA_EXPORT") || tables.has("EXPORT_META_DATA");
  if (!named || !tables.has("StringIds")) {
    return fail(
        Code::kNotATrace,
        fmt::format("{}: an SQLite file, but not an export of Nsight Systems", path.string()),
        "make one with: nsys export --type sqlite FILE.nsys-rep");
  }
  return tables;
}

std::string Tables::without_path(const std::string& what) const {
  const std::string path = database_.path().string() + ": ";
  return what.starts_with(path) ? what.substr(path.size()) : what;
}

// Tables with rows of their own: no views, no virtual tables.
Status Tables::read_catalogue() {
  std::vector<std::string> names;
  Result<schema::Statement> all =
      database_.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0");
  if (!all.ok()) return fail(all.error());
  while (true) {
    const Result<bool> row = all->step();
    if (!row.ok()) return fail(row.error());
    if (!*row) break;
    names.emplace_back(all->text(0));
  }
  for (const std::string& name : names) {
    Result<schema::Statement> columns =
        database_.prepare(fmt::format("PRAGMA table_info({})", in_quotes(name)));
    if (!columns.ok()) return fail(columns.error());
    while (true) {
      const Result<bool> row = columns->step();
      if (!row.ok()) return fail(row.error());
      if (!*row) break;
      columns_[name].emplace(columns->text(1));
    }
  }
  return Done{};
}

bool Tables::has(std::string_view table, std::string_view column) const {
  const auto known = columns_.find(table);
  return known != columns_.end() && known->second.contains(column);
}

std::vector<std::string> Tables::names() const {
  std::vector<std::string> names;
  for (const auto& [name, columns] : columns_) names.push_back(name);
  return names;
}

Result<schema::Statement> Tables::scan(std::string_view table,
                                       std::span<const std::string_view> columns,
                                       std::string_view condition) const {
  std::string sql = "SELECT ";
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) sql += ", ";
    sql += has(table, columns[i]) ? in_quotes(columns[i]) : "NULL";
  }
  sql += " FROM " + in_quotes(table);
  if (!condition.empty()) sql += fmt::format(" WHERE {}", condition);
  return database_.prepare(sql);
}

Status Tables::load_strings() {
  constexpr std::string_view kColumns[] = {"id", "value"};
  return each("StringIds", kColumns, [&](const Row& row) {
    if (const std::optional<int64_t> id = row[0]) strings_.try_emplace(*id, row.text(1));
    return true;
  });
}

std::string_view Tables::string(std::optional<int64_t> id) const {
  if (!id) return {};
  const auto known = strings_.find(*id);
  return known == strings_.end() ? std::string_view() : known->second;
}

int64_t Tables::about_rows(std::string_view table) const {
  if (!has(table)) return 0;
  const Result<int64_t> rows =
      database_.query_int(fmt::format("SELECT max(rowid) FROM {}", in_quotes(table)));
  return rows.ok() && *rows > 0 ? *rows : 0;
}

}  // namespace dprof::analyzer::nsys
