// SPDX-License-Identifier: Apache-2.0
// Keeps digests of finished traces, so that a second report reads kilobytes instead of gigabytes.
//
// A digest stands in the folder .digest beside its trace, or where that cannot be written in the
// user's cache ($XDG_CACHE_HOME/dprof/digest). It counts only if the whole content of the trace,
// the digesting code of this program, and its place on the run's axis are those that it was made
// of; so it is never out of date, and nobody has to delete it. A file that is damaged counts as
// none.
//
// Threading  any.
// Cost       hashing the trace, about 0.2 s for 1 GB that is in memory.
#pragma once

#include "analyzer/digest/digest.h"
#include "analyzer/run/run.h"
#include "base/result.h"

namespace dprof::analyzer {

// The digest of a trace, from the cache where it is there, else by digest_rank, and then kept.
// Traces that are still being written are never cached.
Result<RankDigest> cached_digest(const TraceFile& trace);

}  // namespace dprof::analyzer
