// SPDX-License-Identifier: Apache-2.0
// Numbers in foreign files, parsed from their decimal text: a time of 1.7e15 us with three decimals
// has more digits than a double.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "analyzer/import/kineto/event.h"

namespace dprof::analyzer::kineto {

// "12.3456" us are 12346 ns: exact to the ns, further digits rounded. nullopt: not a number, or
// beyond ±kMaxTimeNs. `decimals`, if given, is raised to the number of decimals (3 at most).
std::optional<int64_t> ns_of_us(std::string_view text, int* decimals = nullptr);
inline constexpr int64_t kMaxTimeNs = (int64_t{1} << 61) - 1;  // 73 years; ten times that overflows

// A whole number; "5.0" is 5. nullopt: not a number, a fraction, or beyond 64 bits (unsigned ones
// up to 2^64 wrap, as addresses do).
std::optional<int64_t> whole_number(std::string_view text);
// For an argument that is not a list or object.
std::optional<int64_t> number_of(const Event& event, Arg arg);

}  // namespace dprof::analyzer::kineto
