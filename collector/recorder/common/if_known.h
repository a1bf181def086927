// SPDX-License-Identifier: Apache-2.0
// A number of a record, in which a negative one stands for "not known".
#pragma once

#include <cstdint>
#include <optional>

namespace dprof::recorder {

[[nodiscard]] inline std::optional<int64_t> if_known(int64_t value) {
  return value < 0 ? std::nullopt : std::optional(value);
}

}  // namespace dprof::recorder
