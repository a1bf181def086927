// SPDX-License-Identifier: Apache-2.0
// Judges how well the run can be replayed, for the report.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/replay/operations.h"
#include "analyzer/replay/replayer.h"
#include "analyzer/replay/result.h"

namespace dprof::analyzer {

// A run of whole operations is replayed by them, any other by its segments.
struct RunReplay {
  std::unique_ptr<Replayer> segments;
  std::optional<OperationRun> operations;
};

// A call takes some 400 bytes while it is replayed.
inline constexpr size_t kMostReplayedCalls = 4'000'000;
inline constexpr size_t kFewestReplayedSteps = 8;

// The same steps, of which fewer are steady: the last ones that together have no more than so many
// calls, but not less than kFewestReplayedSteps. nullopt = all have no more.
[[nodiscard]] std::optional<Steps> last_steps(std::span<const RankDigest> digests,
                                              const Steps& steps,
                                              size_t most_calls = kMostReplayedCalls);

// `pieces`: the lattice of each digest.
[[nodiscard]] RunReplay replay_run(std::span<const RankDigest> digests, const Steps& steps,
                                   const Matching& matching,
                                   const std::vector<std::vector<LatticePiece>>& pieces,
                                   const ReplayHints& hints = {});

// report.replay, but for what steps that it has not seen say; nullopt = there is nothing to replay.
// Says in `notes` what it could not do.
[[nodiscard]] std::optional<Replay> replay_of(const RunReplay& run,
                                              std::span<const RankDigest> digests,
                                              const Steps& steps, std::vector<Diagnostic>& notes);

struct HeldOut;
// Whether it is to be believed, with these errors.
void judge_replay(const HeldOut& held_out, Replay& replay, std::vector<Diagnostic>& notes);

}  // namespace dprof::analyzer
