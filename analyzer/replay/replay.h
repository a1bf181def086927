// SPDX-License-Identifier: Apache-2.0
// Evaluates how well the run can be replayed, for the report.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/replay/operations.h"
#include "analyzer/replay/replayer.h"
#include "analyzer/replay/result.h"

namespace dprof::analyzer {

// A run of whole operations is replayed by operations, any other by its segments.
struct RunReplay {
  std::unique_ptr<Replayer> segments;
  std::optional<OperationRun> operations;
};

// A call takes about 550 bytes while it is replayed.
inline constexpr size_t kMostReplayedCalls = 3'000'000;
inline constexpr size_t kFewestReplayedSteps = 8;

// The same steps with fewer steady ones: the last ones that together have at most that many calls,
// but at least kFewestReplayedSteps. nullopt = all of them have no more calls.
[[nodiscard]] std::optional<Steps> last_steps(std::span<const RankDigest> digests,
                                              const Steps& steps,
                                              size_t most_calls = kMostReplayedCalls);

// `pieces`: the lattice of each digest.
[[nodiscard]] RunReplay replay_run(std::span<const RankDigest> digests, const Steps& steps,
                                   const Matching& matching, std::span<const Lattice> pieces,
                                   const ReplayHints& hints = {});

// report.replay without the held-out errors; nullopt = nothing to replay. Reports in `notes` what
// it could not do.
[[nodiscard]] std::optional<Replay> replay_of(const RunReplay& run,
                                              std::span<const RankDigest> digests,
                                              const Steps& steps, std::vector<Diagnostic>& notes);

struct HeldOut;
// Decides if the replay can be trusted, given these errors.
void judge_replay(const HeldOut& held_out, Replay& replay, std::vector<Diagnostic>& notes);

}  // namespace dprof::analyzer
