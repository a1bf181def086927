// SPDX-License-Identifier: Apache-2.0
// A large trace of one rank, as in a GPU training.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.h"

namespace dprof::bench {

// About `rows` rows in the event tables: operators three deep, each with a launch call and a
// kernel, and in each step a forward, a backward, an optimizer and four collectives. Returns the
// number of rows written. About 0.4 us per row.
Result<int64_t> write_large_trace(const std::filesystem::path& path, int64_t rows);

}  // namespace dprof::bench
