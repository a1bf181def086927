// SPDX-License-Identifier: Apache-2.0
// Finds the ranks that a collective which never completed was waiting for (docs/analysis/hangs.md).
#pragma once

#include <optional>
#include <span>

#include "analyzer/hang/result.h"
#include "analyzer/match/match.h"

namespace dprof::analyzer {

struct HangInput {
  std::span<const RankDigest> digests;
  std::span<const TraceFile> traces;  // likewise ordered: how each ended
  const Matching& matching;
  bool aligned = true;
  std::optional<int64_t> median_step_ns;
};

// From how long on a wait is a hang's: ten times the median step, and a second.
[[nodiscard]] int64_t long_wait_ns(std::optional<int64_t> median_step_ns);

// nullopt = every collective that began was completed, or it was only cut off by an ordinary end:
// ranks that all ended at about the same time, in the middle of a step, did not hang.
std::optional<Hang> find_hang(const HangInput& input);

}  // namespace dprof::analyzer
