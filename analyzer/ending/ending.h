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
  bool aligned = true;         // times of different ranks are comparable
  int64_t clock_bound_ns = 0;  // accuracy of times; one host: 0
  std::optional<int64_t> median_step_ns;
};

// nullopt: no process's end was recorded, as in traces of other tools.
[[nodiscard]] std::optional<Ending> ending_of(const EndingInput& input);

// True if its process failed; an early exit with code 0 is no failure.
[[nodiscard]] bool has_failed(const EndedRank& rank);
// "SIGSEGV", "exit code 1", "a clean end".
[[nodiscard]] std::string words_of_end(const EndedRank& rank);
// True if the rank never reached a parameter update.
[[nodiscard]] bool never_trained(const RankDigest& digest);
// True if the rank ever knew of another one.
[[nodiscard]] bool met_anybody(const RankDigest& digest);

}  // namespace dprof::analyzer
