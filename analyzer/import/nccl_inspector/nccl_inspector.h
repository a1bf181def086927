// SPDX-License-Identifier: Apache-2.0
// What NCCL's Inspector plugin writes: collectives with sizes and times, one process per file or
// several.
#pragma once

#include "analyzer/import/format.h"

namespace dprof::analyzer::nccl_inspector {

// A process becomes a trace. Its rank is its number in its largest communicator: global ranks are
// not in the records. Its times are CLOCK_REALTIME of the host that the records name.
extern const Format kFormat;

}  // namespace dprof::analyzer::nccl_inspector
