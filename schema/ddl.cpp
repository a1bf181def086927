// SPDX-License-Identifier: Apache-2.0
#include "schema/ddl.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "schema/communicator_members.h"
#include "schema/packed_collective.h"
#include "schema/packed_gpu_activity.h"

namespace dprof::schema {
namespace {

std::string_view sql_type(Type type) {
  switch (type) {
    case Type::kText:
      return "TEXT";
    case Type::kBlob:
      return "BLOB";
    case Type::kInteger:
    case Type::kEnum:
      break;
  }
  return "INTEGER";
}

const Enumeration& enumeration(std::string_view name) {
  for (const Enumeration& e : kEnumerations) {
    if (e.name == name) return e;
  }
  DPROF_CHECK(!"every enumeration that a column refers to is declared");
  return kEnumerations[0];
}

std::string create_table(const Table& table) {
  std::string columns;
  for (const Column& c : table.columns) {
    if (!columns.empty()) columns += ", ";
    columns += fmt::format("\"{}\" {}", c.name, sql_type(c.type));
    if (c.name == table.key) {
      columns += " PRIMARY KEY";
    } else if (c.null == Null::kNever) {
      columns += " NOT NULL";
    }
  }
  if (table.name == "meta") columns += ", PRIMARY KEY (\"key\")";
  return fmt::format("CREATE TABLE \"{}\" ({}) STRICT;\n", table.name, columns);
}

// The expression of one column of a text view; empty if the view shows it unchanged.
std::string text_expression(const Table& table, const Column& column) {
  if (column.type == Type::kEnum) {
    std::string cases;
    for (const EnumValue& v : enumeration(column.refers).values)
      cases += fmt::format(" WHEN {} THEN '{}'", v.value, v.word);
    return fmt::format("CASE \"{}\".\"{}\"{} END AS \"{}\"", table.name, column.name, cases,
                       column.name);
  }
  if (column.refers == "string") {
    const std::string_view shown =
        column.name.substr(0, column.name.size() - std::string_view("_id").size());
    return fmt::format("(SELECT value FROM string WHERE id = \"{}\".\"{}\") AS \"{}\"", table.name,
                       column.name, shown);
  }
  return {};
}

std::string create_view(const Table& table, int64_t version) {
  std::string columns;
  bool differs = false;
  for (const Column& c : table.columns) {
    if (c.since > version) continue;
    if (!columns.empty()) columns += ", ";
    const std::string text = text_expression(table, c);
    differs |= !text.empty();
    columns += text.empty() ? fmt::format("\"{}\".\"{}\"", table.name, c.name) : text;
  }
  if (!differs) return {};
  return fmt::format("CREATE VIEW IF NOT EXISTS \"{0}_text\" AS SELECT {1} FROM \"{0}\";\n",
                     table.name, columns);
}

}  // namespace

std::string create_tables() {
  std::string sql = fmt::format("PRAGMA application_id = {};\nPRAGMA user_version = {};\n",
                                kApplicationId, kUserVersion);
  for (const Table& table : kTables) {
    if (table.rows_in.empty()) sql += create_table(table);
  }
  for (const Table& table : kTablesBehindViews) sql += create_table(table);
  return sql + create_collective_view() + create_gpu_activity_views() +
         create_communicator_member_view();
}

std::string create_views(int64_t version) {
  std::string sql;
  for (const Table& table : kTables) {
    if (table.since <= version) sql += create_view(table, version);
  }
  return sql;
}

bool is_view(const Table& table, int64_t version) {
  if (table.rows_in.empty()) return false;
  const auto* behind = std::ranges::find(kTablesBehindViews, table.rows_in, &Table::name);
  return behind->since <= version;
}

std::string column_list(const Table& table, int64_t version) {
  std::string list;
  for (const Column& c : table.columns) {
    if (!list.empty()) list += ", ";
    if (c.since <= version) {
      list += c.name;
    } else {
      list += c.null == Null::kAllowed ? "NULL" : "0";
    }
  }
  return list;
}

}  // namespace dprof::schema
