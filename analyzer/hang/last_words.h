// SPDX-License-Identifier: Apache-2.0
// Describes in words what a rank was doing at the end of its trace.
#pragma once

#include <string>
#include <vector>

#include "analyzer/hang/result.h"
#include "analyzer/match/match.h"

namespace dprof::analyzer {

// "has been in `backward` within `step` for 20 ms", "finished `step` 3 ms before its last sign",
// "has been waiting for a batch for 61 s"; "" = unknown.
[[nodiscard]] std::string activity_words(const LastActivity& last);
// "lock_twice (train.py:58), called by main (train.py:125)"; "" = no stack was taken.
[[nodiscard]] std::string stack_words(const LastActivity& last);
// The recorder ended its process because the job hung (`--on-hang kill`): it was alive.
[[nodiscard]] bool was_ended_for_hanging(const RankDigest& digest);
// "last called all_reduce #4 of default_pg".
[[nodiscard]] std::string last_call_words(const RankDigest& digest);
// "all_reduce #42 of default_pg": the call of the hang, or of any collective.
[[nodiscard]] std::string words_of_call(const Hang& hang);
[[nodiscard]] std::string words_of_call(const Instance& instance, const Matching& matching);

// "in `backward` in step 5" or "waiting for a batch", followed by its called but unfinished
// collectives. `d`: the digest's position in the matching.
[[nodiscard]] std::vector<std::string> doing_of(const RankDigest& digest, const Matching& matching,
                                                size_t d);

}  // namespace dprof::analyzer
