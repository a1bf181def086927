// SPDX-License-Identifier: Apache-2.0
// A hang in words: what each rank was at, and why the culprits are the culprits.
#pragma once

#include <string>

#include "analyzer/hang/wait_graph.h"
#include "analyzer/run/run.h"

namespace dprof::analyzer {

// "all_reduce #42 of default_pg", "send of pg 0 from rank 0 to rank 1".
[[nodiscard]] std::string words_of_call(const StuckCall& call, const Matching& matching);

// "was in `loader` within `step` for 61.2 s; its process was killed (signal:9)". `stands`: the
// first call that it stands in, or none.
[[nodiscard]] std::string last_words_of(const RankDigest& digest, const TraceFile& trace,
                                        const StuckCall* stands, const Matching& matching);

// For how long nothing new was heard of it.
[[nodiscard]] std::optional<int64_t> silence_of(const RankDigest& digest);

}  // namespace dprof::analyzer
