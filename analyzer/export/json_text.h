// SPDX-License-Identifier: Apache-2.0
// JSON as it is appended to a string, quickly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dprof::analyzer {

// In quotes, escaped; what is no UTF-8 becomes U+FFFD.
void append_json_text(std::string& json, std::string_view text);
void append_number(std::string& text, int64_t number);
// Microseconds: "-1.005" of -1005, with at least `decimals` of them and as many as it takes.
void append_microseconds(std::string& text, int64_t ns, int decimals);

}  // namespace dprof::analyzer
