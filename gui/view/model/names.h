// SPDX-License-Identifier: Apache-2.0
// Events by name: patterns, and which of a rank's names match one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gui/view/model/model.h"

namespace dprof::view {

// A `*` matches any letters or none; all other letters match themselves.
[[nodiscard]] bool name_matches(std::string_view pattern, std::string_view name);

// By position in the names: 1 = matches. O(names).
[[nodiscard]] std::vector<uint8_t> matching_names(std::span<const std::string> names,
                                                  std::string_view pattern);

// True if some event of the run can have such a name. O(names).
[[nodiscard]] bool any_name_matches(const Model& model, std::string_view pattern);

}  // namespace dprof::view
