// SPDX-License-Identifier: Apache-2.0
// A record's number, where a negative one means "not known".
#pragma once

#include <cstdint>
#include <optional>

namespace dprof::recorder {

[[nodiscard]] inline std::optional<int64_t> if_known(int64_t value) {
  return value < 0 ? std::nullopt : std::optional(value);
}

}  // namespace dprof::recorder
