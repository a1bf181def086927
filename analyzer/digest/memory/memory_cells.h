// SPDX-License-Identifier: Apache-2.0
// Cells of time taken together.
#pragma once

#include "analyzer/digest/memory/memory_levels.h"

namespace dprof::analyzer {

// `all` reaches over `one` too; its begin stays.
void join(MemoryCell& all, const MemoryCell& one);

}  // namespace dprof::analyzer
