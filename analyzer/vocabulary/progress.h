// SPDX-License-Identifier: Apache-2.0
// Lets a long task report its progress, and ask whether to continue.
#pragma once

#include <functional>
#include <string_view>

namespace dprof::analyzer {

// Called occasionally on the caller's thread with the current stage and a share of 0…1; can return
// false to cancel (kUsage error "cancelled").
using Progress = std::function<bool(std::string_view stage, double share)>;

}  // namespace dprof::analyzer
