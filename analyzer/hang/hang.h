// SPDX-License-Identifier: Apache-2.0
// Finds the ranks that an unfinished collective was waiting for (docs/analysis/hangs.md).
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

// The least wait that counts as a hang: ten times the median step, and at least a second.
[[nodiscard]] int64_t long_wait_ns(std::optional<int64_t> median_step_ns);

// nullopt = every collective was completed, or was only cut off by an ordinary end: ranks that all
// ended at about the same time, within a step, did not hang.
std::optional<Hang> find_hang(const HangInput& input);

}  // namespace dprof::analyzer
