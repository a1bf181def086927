// SPDX-License-Identifier: Apache-2.0
// One SQL statement, asked of the traces of several ranks: what the timeline's SQL dock runs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analyzer/run/run.h"
#include "analyzer/vocabulary/progress.h"
#include "base/result.h"
#include "schema/sql_value.h"

namespace dprof::analyzer {

using schema::SqlBlob;
using schema::SqlValue;

struct SqlColumn {
  std::string name;
  std::string rows_of;  // its integers are row ids of this table that the timeline shows; "" = none
};

// A rank that did not answer, or not to the end.
struct SqlLeftOut {
  int rank = 0;
  std::string why;
};

// Times in it are as they stand in the traces: on the clock of each rank's host.
struct SqlResult {
  std::vector<SqlColumn> columns;           // `rank` stands before those of the statement
  std::vector<std::vector<SqlValue>> rows;  // by rank, and of each in the statement's order
  std::vector<int> ranks;                   // that answered
  std::vector<SqlLeftOut> left_out;
  bool more = false;  // there are more rows than these
};
[[nodiscard]] int rank_of(const std::vector<SqlValue>& row);

// Why there is no result.
struct SqlError {
  Error error;
  std::optional<size_t> offset;  // in the statement's text, in bytes; nullopt = not known
};
using SqlAnswer = std::variant<SqlResult, SqlError>;

struct SqlLimits {
  size_t rows = 10'000;
  size_t bytes = size_t{64} << 20;  // of all values
};

// Runs the statement on one rank after the other. A rank whose trace cannot be read is left out; an
// error is what all of them say. `progress` is told of each rank, `is_unwanted` asked all the time
// while one is read: false, or true, ends it, and the answer is then nobody's.
SqlAnswer run_sql(const std::vector<TraceFile>& traces, std::string_view text,
                  const SqlLimits& limits = {}, const std::function<bool()>& is_unwanted = {},
                  const Progress& progress = {});

}  // namespace dprof::analyzer
