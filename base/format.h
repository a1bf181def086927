// SPDX-License-Identifier: Apache-2.0
// Numbers formatted for people: the same way in the report, the timeline and messages.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace dprof {

// "46.2 ms", "1.60 s", "812 ns": three significant digits in a suitable unit. Negative values keep
// their sign.
[[nodiscard]] std::string format_duration(DurationNs duration);

// Always in milliseconds with one decimal ("139.4 ms"), so that columns are easy to compare.
[[nodiscard]] std::string format_ms(DurationNs duration);

// "25.0 MB" (powers of ten), "812 B".
[[nodiscard]] std::string format_bytes(int64_t bytes);

// "4,812,331".
[[nodiscard]] std::string format_count(int64_t count);

// "15 %"; below 10 % one decimal ("0.4 %").
[[nodiscard]] std::string format_share(double share);

}  // namespace dprof
