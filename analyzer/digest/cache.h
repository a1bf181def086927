// SPDX-License-Identifier: Apache-2.0
// Caches digests of finished traces, so that a report reads kilobytes instead of gigabytes.
//
// A digest is in the folder .digest beside its trace or, if that is not writable, in the user's
// cache ($XDG_CACHE_HOME/dprof/digest). It uses the trace's own time and has no rank, so it can be
// made without the run. It is valid only for the code that made it and for the same trace: by the
// file's stamp (size, times, SQLite's change counter) or, if the stamp differs (a copy) or is not
// conclusive, by the whole content. So it is never out of date, and never has to be deleted. A
// damaged file counts as missing.
//
// Threading  any; also by several processes, on several nodes.
// Cost       two small reads of the trace; without a matching stamp, about 0.2 s for 1 GB in
//            memory, and the stamp is renewed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "analyzer/digest/digest.h"
#include "analyzer/run/run.h"
#include "base/result.h"

namespace dprof::analyzer {

// The digest of a trace, from the cache if it is there, else by digest_rank and then cached. Traces
// that are still being written are never cached.
Result<RankDigest> cached_digest(const TraceFile& trace);

// The same for another process, as bytes_of() has it: in the trace's own time, without a rank.
Result<std::string> digest_bytes(const TraceFile& trace, bool cache);
// Places such bytes in the run; nullopt = no digest.
[[nodiscard]] std::optional<RankDigest> digest_in_run(std::string_view bytes,
                                                      const TraceFile& trace);

enum class Keeping : uint8_t {
  kThere,       // made before
  kMade,        // made now
  kUnfinished,  // the trace is still being written
  kNoPlace,     // it can be made, but not stored anywhere
};
// Ensures that the digest is stored, with a stamp: waits, two seconds at most, until the trace is
// older than the resolution of its file system's times.
Result<Keeping> keep_digest(const std::filesystem::path& trace);

}  // namespace dprof::analyzer
