// SPDX-License-Identifier: Apache-2.0
// Which operator or range a thread was in at given moments.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "schema/trace_reader.h"

namespace dprof::analyzer {

// Times as the trace has them.
struct SitePoint {
  int64_t thread = 0;
  int64_t time_ns = 0;
  // Found: the outermost operator or autograd node, else the innermost other range.
  std::optional<int64_t> name_id;
  std::optional<int64_t> op_end_ns;  // of that operator
  int64_t range_start_ns = 0;        // of the range that was found, for the search
  bool in_op = false;
};

// One pass over host_range; leaves the order of the points as it was. O(rows log points), and a
// point's search ends where hostile nesting would cost more than kMostWork steps in all.
inline constexpr int64_t kMostSiteWork = 20'000'000;
Status find_sites(const schema::TraceReader& reader, std::vector<SitePoint>& points);

}  // namespace dprof::analyzer
