// SPDX-License-Identifier: Apache-2.0
// The content of one timeline row of lanes: a thread, a stream, or a query's result.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/lanes/lanes.h"
#include "analyzer/sql/sql_query.h"
#include "gui/view/drawing/lod.h"

namespace dprof::view {

// The table name of slices that are lines of a result.
inline constexpr std::string_view kResultTable = "sql";

// One rank's lines of a result, as lanes: a slice's row is its line. Immutable.
struct ResultLanes {
  analyzer::ThreadLanes thread;
  std::vector<std::string> names;
  std::vector<LodIndex> lods;  // by depth
  std::shared_ptr<const analyzer::SqlResult> result;
  std::string note;  // a remark: "first 10,000 rows"
};
using SharedResultLanes = std::shared_ptr<const ResultLanes>;

// One row's lanes, of any kind. Not owned.
struct RowLanes {
  const analyzer::ThreadLanes& thread;
  const std::vector<std::string>& names;
  const std::vector<LodIndex>& lods;
};

}  // namespace dprof::view
