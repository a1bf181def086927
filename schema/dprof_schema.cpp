// SPDX-License-Identifier: Apache-2.0
// Generates C++ row types and the reference page from the declarations in tables.h.
//   dprof-schema rows > schema/generated/rows.h
//   dprof-schema docs > docs/reference/schema.md
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "schema/tables.h"

namespace dprof::schema {
namespace {

// "host_range" → "HostRange", "all_reduce" → "AllReduce".
std::string pascal_case(std::string_view snake) {
  std::string pascal;
  bool upper = true;
  for (const char c : snake) {
    if (c == '_') {
      upper = true;
    } else {
      pascal += upper ? static_cast<char>(std::toupper(c)) : c;
      upper = false;
    }
  }
  return pascal;
}

// A heading's anchor is lower-case.
std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(c));
  return result;
}

std::string cpp_type(const Column& column) {
  std::string type;
  switch (column.type) {
    case Type::kInteger:
      type = "int64_t";
      break;
    case Type::kText:
    case Type::kBlob:
      type = "std::string";
      break;
    case Type::kEnum:
      type = std::string(column.refers);
      break;
  }
  return column.null == Null::kAllowed ? fmt::format("std::optional<{}>", type) : type;
}

std::string_view unit_text(Unit unit) {
  switch (unit) {
    case Unit::kNone:
      return "";
    case Unit::kTraceNs:
      return "ns since origin";
    case Unit::kDurationNs:
      return "ns";
    case Unit::kRealtimeNs:
      return "ns since 1970";
    case Unit::kBytes:
      return "bytes";
    case Unit::kCount:
      return "count";
    case Unit::kTicks:
      return "ticks";
  }
  return "";
}

void print_enum(const Enumeration& e) {
  fmt::print("\n// {}\nenum class {} : int64_t {{\n", e.doc, e.name);
  for (const EnumValue& v : e.values) fmt::print("  k{} = {},\n", pascal_case(v.word), v.value);
  fmt::print("}};\ninline std::string_view word_of({} value) {{\n  switch (value) {{\n", e.name);
  for (const EnumValue& v : e.values) {
    fmt::print("    case {}::k{}:\n      return \"{}\";\n", e.name, pascal_case(v.word), v.word);
  }
  fmt::print("  }}\n  return \"?\";\n}}\n");
}

void print_row(const Table& table, std::string_view array, size_t index) {
  fmt::print("\n// {}\nstruct {} {{\n", table.doc, table.row_type);
  fmt::print("  static constexpr const Table& kTable = {}[{}];\n", array, index);
  for (const Column& c : table.columns) fmt::print("  {} {}{{}};\n", cpp_type(c), c.name);
  fmt::print("\n  friend bool operator==(const {0}&, const {0}&) = default;\n}};\n",
             table.row_type);
  fmt::print("template <typename RowOrConst, typename Visit>\n");
  fmt::print("  requires std::is_same_v<std::remove_const_t<RowOrConst>, {}>\n", table.row_type);
  fmt::print("void for_each_field(RowOrConst& row, Visit&& visit) {{\n");
  for (const Column& c : table.columns) fmt::print("  visit(row.{});\n", c.name);
  fmt::print("}}\n");
}

void print_rows() {
  fmt::print(
      "// SPDX-License-Identifier: Apache-2.0\n"
      "// Made by `dprof-schema rows` from schema/tables.h. Do not edit.\n"
      "// clang-format off\n#pragma once\n\n#include <cstdint>\n#include <optional>\n"
      "#include <string>\n"
      "#include <string_view>\n#include <type_traits>\n\n#include \"schema/tables.h\"\n\n"
      "namespace dprof::schema {{\n");
  for (const Enumeration& e : kEnumerations) print_enum(e);
  size_t index = 0;
  for (const Table& table : kTables) print_row(table, "kTables", index++);
  index = 0;
  for (const Table& table : kTablesBehindViews) print_row(table, "kTablesBehindViews", index++);
  fmt::print(
      "\n// Calls visit.template operator()<Row>() for each row type, in the order of kTables.\n");
  fmt::print("template <typename Visit>\nvoid for_each_row_type(Visit&& visit) {{\n");
  for (const Table& table : kTables)
    fmt::print("  visit.template operator()<{}>();\n", table.row_type);
  fmt::print("}}\n\n}}  // namespace dprof::schema\n");
}

void print_table(const Table& table, std::string_view heading) {
  const std::string behind =
      table.rows_in.empty() ? std::string()
                            : fmt::format(" A view: its rows lie in [{0}](#{0}).", table.rows_in);
  fmt::print(
      "\n{} {}\n\n{} Order: {}.{}{}\n\n| column | type | unit | since | meaning |\n"
      "| --- | --- | --- | --- | --- |\n",
      heading, table.name, table.doc, table.order,
      table.since == 1 ? std::string() : fmt::format(" Since version {}.", table.since), behind);
  for (const Column& c : table.columns) {
    std::string_view type = c.type == Type::kText   ? "TEXT"
                            : c.type == Type::kBlob ? "BLOB"
                                                    : "INTEGER";
    std::string refers = c.refers.empty() ? ""
                         : c.type == Type::kEnum
                             ? fmt::format(" Enumeration [{}](#{}).", c.refers, lower(c.refers))
                             : fmt::format(" → `{}`.", c.refers);
    fmt::print("| `{}` | {}{} | {} | {} | {}{} |\n", c.name, type,
               c.null == Null::kAllowed ? ", may be NULL" : "", unit_text(c.unit), c.since, c.doc,
               refers);
  }
}

void print_docs() {
  fmt::print(
      "# The tables of a trace\n\n"
      "<!-- Made by `dprof-schema docs` from schema/tables.h. Do not edit. -->\n\n"
      "A trace is one rank's SQLite file; `sqlite3 RUN/rank-00000.dprof` is a supported use. "
      "This page is schema version {}\n"
      "(`PRAGMA user_version`); `PRAGMA application_id` is {:#x}. "
      "Times are integer nanoseconds since the run's origin on the\n"
      "recording host's clock; `meta` gives the origin on the realtime and the monotonic raw clock. "
      "Enumerations are small\n"
      "integers; the view `TABLE_text` shows each table with words and names in their place.\n",
      kUserVersion, kApplicationId);
  for (const Table& table : kTables) print_table(table, "##");
  fmt::print("\n## Keys of meta\n\n| key | meaning |\n| --- | --- |\n");
  for (const MetaKey& key : kMetaKeys) fmt::print("| `{}` | {} |\n", key.key, key.doc);
  fmt::print("\n## Enumerations\n");
  for (const Enumeration& e : kEnumerations) {
    fmt::print("\n### {}\n\n{}\n\n| value | word | meaning |\n| --- | --- | --- |\n", e.name,
               e.doc);
    for (const EnumValue& v : e.values) fmt::print("| {} | `{}` | {} |\n", v.value, v.word, v.doc);
  }
  fmt::print(
      "\n## Tables behind views\n\nHow the rows of a view are stored. "
      "They may change with any version: read the view.\n");
  for (const Table& table : kTablesBehindViews) print_table(table, "###");
}

}  // namespace
}  // namespace dprof::schema

int main(int argc, char** argv) {
  const std::string_view what = argc == 2 ? argv[1] : "";
  if (what == "rows") {
    dprof::schema::print_rows();
  } else if (what == "docs") {
    dprof::schema::print_docs();
  } else {
    std::fputs("usage: dprof-schema rows|docs\n", stderr);
    return 2;
  }
  return 0;
}
