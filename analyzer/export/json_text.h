// SPDX-License-Identifier: Apache-2.0
// Appends JSON to a string, quickly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dprof::analyzer {

// Quoted and escaped; invalid UTF-8 becomes U+FFFD.
void append_json_text(std::string& json, std::string_view text);
void append_number(std::string& text, int64_t number);
// Microseconds: -1005 gives "-1.005", with at least `decimals` decimals and more if needed.
void append_microseconds(std::string& text, int64_t ns, int decimals);

}  // namespace dprof::analyzer
