// SPDX-License-Identifier: Apache-2.0
// Rows of a rank that one row led to, or came from: a call and its launches, an operator and its
// backward.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/run/run.h"
#include "base/result.h"

namespace dprof::analyzer {

struct RelatedRow {
  std::string table;  // host_range, gpu_activity, collective
  int64_t row = 0;
  auto operator<=>(const RelatedRow&) const = default;
};

// The rows with the same correlation (CUPTI's), and for operators those with the same autograd
// sequence number; without the row itself, at most `most`. O(rows of those tables).
Result<std::vector<RelatedRow>> related_rows(const TraceFile& trace, std::string_view table,
                                             int64_t row, size_t most = 100);

}  // namespace dprof::analyzer
