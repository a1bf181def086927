// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/replay/slowdown.h"

namespace dprof::analyzer {
namespace {

Replay replay_of_operations(const OperationRun& run, std::span<const RankDigest> digests,
                            const Steps& steps) {
  Replay replay;
  replay.unit = "operations";
  replay.steps = static_cast<int64_t>(run.steps.size());
  const std::vector<int64_t> ends = run.graph.simulate(run.graph.durations(), run.graph.lags());
  replay.identity_error = identity_error(run.steps, step_lengths(run.steps, ends));
  replay.accepted = replay.identity_error <= kRefusedError;
  replay.unexplained = unexplained_share(run.graph, run.steps);
  replay.slowdown = EvenRun(run).slowdown(digests, steps);
  return replay;
}

void say_quality(const Replay& replay, std::vector<Diagnostic>& notes) {
  if (!replay.accepted) {
    notes.push_back(make_diagnostic(
        "replay_refused",
        fmt::format("{:.1f} % off over {} steps", 100 * replay.identity_error, replay.steps)));
  } else if (replay.identity_error > kDoubtfulError) {
    notes.push_back(make_diagnostic(
        "replay_doubtful",
        fmt::format("{:.1f} % off over {} steps", 100 * replay.identity_error, replay.steps)));
  }
}

}  // namespace

RunReplay replay_run(std::span<const RankDigest> digests, const Steps& steps,
                     const Matching& matching,
                     const std::vector<std::vector<LatticePiece>>& pieces) {
  RunReplay run;
  const bool operations =
      std::ranges::all_of(steps.ranks, [&](size_t d) { return digests[d].operations; });
  if (operations) {
    run.operations = operations_of(digests, steps, matching);
    return run;
  }
  std::vector<std::span<const LatticePiece>> of_ranks;
  for (const size_t d : steps.ranks) of_ranks.emplace_back(pieces[d]);
  run.segments = Replayer::make(digests, steps, matching, of_ranks);
  return run;
}

std::optional<Replay> replay_of(const RunReplay& run, std::span<const RankDigest> digests,
                                const Steps& steps, std::vector<Diagnostic>& notes) {
  if (!run.segments && !run.operations) {
    notes.push_back(make_diagnostic(
        "not_computed",
        "replay: "
        "no rank meets another one in the steady steps in a collective or message whose times are known on all sides"));
    return std::nullopt;
  }
  Replay replay = run.operations ? replay_of_operations(*run.operations, digests, steps)
                                 : run.segments->quality();
  say_quality(replay, notes);
  return replay;
}

}  // namespace dprof::analyzer
