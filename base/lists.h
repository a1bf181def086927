// SPDX-License-Identifier: Apache-2.0
// Lists and ranges as people write them on a command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace dprof {

// "A:B", half-open; A defaults to 0, B to no end. kUsage for anything else, or an empty range.
Result<std::pair<int64_t, int64_t>> parse_half_open(std::string_view text);

// "0,4-7": sorted, each once. kUsage for anything else.
Result<std::vector<int>> parse_rank_list(std::string_view text);
// The same in the given order: "1,0" is 1, 0.
Result<std::vector<int>> parse_ranks_in_order(std::string_view text);

// "1%" or "1" is 0.01. kUsage for anything else, or unless above 0 and at most 100.
Result<double> parse_percent(std::string_view text);

// "90", "90s", "5m" or "1h". kUsage for anything else, and for 0.
Result<std::chrono::seconds> parse_seconds(std::string_view text);

// "1.5,-20": two numbers. kUsage for anything else.
Result<std::pair<double, double>> parse_pair(std::string_view text);

}  // namespace dprof
