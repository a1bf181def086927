// SPDX-License-Identifier: Apache-2.0
// Runs one SQL statement on the traces of several ranks, for the timeline's SQL dock.
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
  std::string rows_of;  // its integers are row ids of this table, shown on the timeline; "" = none
};

// A rank whose query failed or did not finish.
struct SqlLeftOut {
  int rank = 0;
  std::string why;
};

// Times are as stored in the traces: on the clock of each rank's host.
struct SqlResult {
  std::vector<SqlColumn> columns;           // `rank`, then those of the statement
  std::vector<std::vector<SqlValue>> rows;  // by rank, and within it in the statement's order
  std::vector<int> ranks;                   // those that answered
  std::vector<SqlLeftOut> left_out;
  bool more = false;  // more rows exist than returned
};
[[nodiscard]] int rank_of(const std::vector<SqlValue>& row);

// The reason for a missing result.
struct SqlError {
  Error error;
  std::optional<size_t> offset;  // in the statement's text, in bytes; nullopt = unknown
};
using SqlAnswer = std::variant<SqlResult, SqlError>;

struct SqlLimits {
  size_t rows = 10'000;
  size_t bytes = size_t{64} << 20;  // of all values
};

// Runs the statement on one rank after the other. A rank whose trace cannot be read is left out;
// the error is returned only if no rank answered. `progress` is called per rank, `is_unwanted`
// repeatedly; false or true cancels, and the answer is then discarded.
SqlAnswer run_sql(const std::vector<TraceFile>& traces, std::string_view text,
                  const SqlLimits& limits = {}, const std::function<bool()>& is_unwanted = {},
                  const Progress& progress = {});

}  // namespace dprof::analyzer
