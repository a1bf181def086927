// SPDX-License-Identifier: Apache-2.0
// Lets a long task report its progress, and ask whether to continue.
#pragma once

#include <functional>
#include <string_view>

namespace dprof::analyzer {

// Called now and then with what is being done and 0…1, on the caller's thread; may return false to
// cancel (kUsage error "cancelled").
using Progress = std::function<bool(std::string_view stage, double share)>;

}  // namespace dprof::analyzer
