// SPDX-License-Identifier: Apache-2.0
// Decides why the run stopped, and which rank failed first (docs/analysis/endings.md).
#pragma once

#include <optional>
#include <span>
#include <string>

#include "analyzer/ending/result.h"
#include "analyzer/hang/hang.h"

namespace dprof::analyzer {

struct EndingInput {
  std::span<const RankDigest> digests;
  std::span<const TraceFile> traces;  // likewise ordered
  const Matching& matching;
  const Hang* hang = nullptr;  // null: none
  bool aligned = true;         // times of different ranks can be compared
  int64_t clock_bound_ns = 0;  // and are right to this; one host: 0
  std::optional<int64_t> median_step_ns;
};

// nullopt: nothing is known of any process's end, as in traces of other tools.
[[nodiscard]] std::optional<Ending> ending_of(const EndingInput& input);

// Whether its process ended badly; one that left early with code 0 did not.
[[nodiscard]] bool has_failed(const EndedRank& rank);
// "SIGSEGV", "exit code 1", "a clean end".
[[nodiscard]] std::string words_of_end(const EndedRank& rank);
// Whether the rank never came to an update of its parameters.
[[nodiscard]] bool never_trained(const RankDigest& digest);
// Whether it ever knew of another rank.
[[nodiscard]] bool met_anybody(const RankDigest& digest);

}  // namespace dprof::analyzer
