// SPDX-License-Identifier: Apache-2.0
// Guesses the name that was meant by a mistyped one.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace dprof {

// The name with the fewest letters to insert, delete, replace or swap with their neighbour, the
// first of equals; none if that is more than a third of its letters (for short names, more than
// one).
[[nodiscard]] std::optional<std::string_view> nearest_name(std::string_view mistyped,
                                                           std::span<const std::string_view> names);

}  // namespace dprof
