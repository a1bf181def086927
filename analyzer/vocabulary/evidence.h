// SPDX-License-Identifier: Apache-2.0
// The rows of a trace that support a claim.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"

namespace dprof::analyzer {

struct Evidence {
  int rank = 0;
  std::string table;
  std::vector<int64_t> rows;  // 20 at most
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  DPROF_FIELDS(rank, table, rows, start_ns, end_ns);
};

}  // namespace dprof::analyzer
