// SPDX-License-Identifier: Apache-2.0
// How a long task tells how far it is, and asks whether to go on.
#pragma once

#include <functional>
#include <string_view>

namespace dprof::analyzer {

// Called now and then with what is being done and 0…1, on the caller's thread; may return false to
// cancel (kUsage error "cancelled").
using Progress = std::function<bool(std::string_view stage, double share)>;

}  // namespace dprof::analyzer
