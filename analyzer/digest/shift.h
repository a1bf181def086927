// SPDX-License-Identifier: Apache-2.0
// Moves a digest from its trace's own time to the run's axis. A trace is digested in its own time,
// so that the digest can be made and stored before the run is known.
#pragma once

#include "analyzer/digest/digest.h"

namespace dprof::analyzer {

// Adds `shift_ns` to every time in it (TraceFile::shift_ns). O(size of the digest).
void shift_times(RankDigest& digest, int64_t shift_ns);

}  // namespace dprof::analyzer
