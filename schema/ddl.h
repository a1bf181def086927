// SPDX-License-Identifier: Apache-2.0
// SQL generated from the declarations in tables.h.
#pragma once

#include <string>
#include <vector>

#include "schema/tables.h"

namespace dprof::schema {

// CREATE TABLE statements of all tables, with application_id and user_version, and the views that
// act as tables.
[[nodiscard]] std::string create_tables();

// CREATE VIEW statements: for each table with enumerations or names, a view `TABLE_text` that shows
// words in their place. For a file of an older schema `version`, limited to what it has.
[[nodiscard]] std::string create_views(int64_t version = kUserVersion);

// True if a file of this version shows the table as a view: in older ones it is a table.
[[nodiscard]] bool is_view(const Table& table, int64_t version);

// "a, b, c": the columns of a table in declared order. Not quoted: SQLite takes an unknown quoted
// name for a text, and a missing column would go unnoticed. For a file of an older schema
// `version`, columns that it cannot have are NULL (or 0).
[[nodiscard]] std::string column_list(const Table& table, int64_t version = kUserVersion);

}  // namespace dprof::schema
