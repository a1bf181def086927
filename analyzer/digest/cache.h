// SPDX-License-Identifier: Apache-2.0
// Keeps digests of finished traces, so that a report reads kilobytes instead of gigabytes.
//
// A digest stands in the folder .digest beside its trace, or where that cannot be written in the
// user's cache ($XDG_CACHE_HOME/dprof/digest). It is by the trace's own time and of no rank, so
// that whoever made it need not know the run. It counts only for the code that made it, and if the
// trace is the one that it was made of: by the file's stamp (size, times, SQLite's change counter),
// or, where that is another one (a copy) or says too little, by the content as a whole. So it is
// never out of date, and nobody has to delete it. A file that is damaged counts as none.
//
// Threading  any; also by several processes, on several nodes.
// Cost       two small reads of the trace; without a stamp that fits, about 0.2 s for 1 GB that is
//            in memory, and the stamp is renewed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "analyzer/digest/digest.h"
#include "analyzer/run/run.h"
#include "base/result.h"

namespace dprof::analyzer {

// The digest of a trace, from the cache where it is there, else by digest_rank, and then kept.
// Traces that are still being written are never cached.
Result<RankDigest> cached_digest(const TraceFile& trace);

// The same for another process, as bytes_of() has it: by the trace's own time, and of no rank.
Result<std::string> digest_bytes(const TraceFile& trace, bool cache);
// What such bytes are in the run; nullopt = nothing.
[[nodiscard]] std::optional<RankDigest> digest_in_run(std::string bytes, const TraceFile& trace);

enum class Keeping : uint8_t {
  kThere,       // it had been made before
  kMade,        // now
  kUnfinished,  // the trace is still being written
  kNoPlace,     // it could be made, and nowhere be kept
};
// Sees to it that the digest is kept, with a stamp: waits, two seconds at most, until the trace is
// older than its file system's times are exact.
Result<Keeping> keep_digest(const std::filesystem::path& trace);

}  // namespace dprof::analyzer
