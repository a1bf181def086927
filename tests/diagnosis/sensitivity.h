// SPDX-License-Identifier: Apache-2.0
// What a run's verdicts become where one threshold after the other is 30 % less, or more.
#pragma once

#include <nlohmann/json.hpp>

#include "analyzer/stragglers/stragglers.h"

namespace dprof::diagnosis {

inline constexpr double kLess = 0.7;
inline constexpr double kMore = 1.3;

// Each straggler that the report would name.
nlohmann::ordered_json straggler_json(const analyzer::Straggler& s);

// {"kZ": {"less": [stragglers], "more": [...]}, ...}: only where they differ from the usual ones.
// Thresholds are as they were afterwards. O(thresholds) times judge().
nlohmann::ordered_json judge_again(const analyzer::Comparison& comparison);

// The list of all of them: name, value, unit, why, source; in the order of thresholds.h.
nlohmann::ordered_json thresholds();

}  // namespace dprof::diagnosis
