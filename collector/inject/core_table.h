// SPDX-License-Identifier: Apache-2.0
// The table that libdprof.so hands out. Static for the life of the process.
#pragma once

#include "collector/inject/core_api.h"

namespace dprof::inject {

[[nodiscard]] const CoreApi& core_table() noexcept;

}  // namespace dprof::inject
