// SPDX-License-Identifier: Apache-2.0
// SQL that follows from the declarations in tables.h.
#pragma once

#include <string>
#include <vector>

#include "schema/tables.h"

namespace dprof::schema {

// CREATE TABLE statements of all tables, with application_id and user_version, and the views that
// stand for tables.
[[nodiscard]] std::string create_tables();

// CREATE VIEW statements: for each table with enumerations or names a view `TABLE_text` that shows
// words in their place. Of a file of an older schema `version`, for what it has.
[[nodiscard]] std::string create_views(int64_t version = kUserVersion);

// "a, b, c": the columns of a table in declared order. Not quoted: SQLite takes a quoted name that
// it does not know for a text, and a missing column would go unnoticed.
// Of a file of an older schema `version`, what it cannot have is NULL (or 0).
[[nodiscard]] std::string column_list(const Table& table, int64_t version = kUserVersion);

}  // namespace dprof::schema
