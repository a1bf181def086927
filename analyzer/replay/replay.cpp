// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/replay/held_out.h"
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
  replay.unexplained = unexplained_share(run.graph, run.steps);
  replay.slowdown = EvenRun(run).slowdown(digests, steps);
  return replay;
}

// Why it is refused; "" = it is accepted.
std::string refusal_of(const Replay& replay) {
  const auto off = [&](double error, std::string_view what) {
    return fmt::format("{} is {:.1f} % off ({} steps)", what, 100 * error, replay.steps);
  };
  if (replay.identity_error > kRefusedError)
    return off(replay.identity_error, "replayed unchanged, the run");
  if (replay.unexplained > kMostUnexplained) {
    return fmt::format("no recorded cause explains {:.0f} % of a step", 100 * replay.unexplained);
  }
  if (replay.held_out_error.value_or(0) > kRefusedError)
    return off(*replay.held_out_error, "a replay that predicts every second step from the others");
  if (replay.half_error.value_or(0) > kRefusedError)
    return off(*replay.half_error, "a replay that predicts the second half from the first");
  return {};
}

}  // namespace

std::optional<Steps> last_steps(std::span<const RankDigest> digests, const Steps& steps,
                                size_t most_calls) {
  double calls_per_step = 0;
  for (const size_t d : steps.ranks) {
    calls_per_step += static_cast<double>(digests[d].collectives.size()) /
                      static_cast<double>(std::max<size_t>(1, digests[d].steps.size()));
  }
  const double fitting = static_cast<double>(most_calls) / std::max(1.0, calls_per_step);
  const size_t steady = steps.steady().size();
  if (fitting >= static_cast<double>(steady) || steady <= kFewestReplayedSteps) return std::nullopt;
  Steps last = steps;
  last.first_steady =
      last.last_steady + 1 - std::max(kFewestReplayedSteps, static_cast<size_t>(fitting));
  return last;
}

RunReplay replay_run(std::span<const RankDigest> digests, const Steps& steps,
                     const Matching& matching, std::span<const Lattice> pieces,
                     const ReplayHints& hints) {
  RunReplay run;
  const bool operations =
      std::ranges::all_of(steps.ranks, [&](size_t d) { return digests[d].operations; });
  if (operations) {
    run.operations = operations_of(digests, steps, matching);
    return run;
  }
  run.segments = Replayer::make(digests, steps, matching, pieces, hints);
  return run;
}

std::optional<Replay> replay_of(const RunReplay& run, std::span<const RankDigest> digests,
                                const Steps& steps, std::vector<Diagnostic>& notes) {
  if (!run.segments && !run.operations) {
    notes.push_back(make_diagnostic("not_computed",
                                    "replay: records of the steady steps contradict each other"));
    return std::nullopt;
  }
  return run.operations ? replay_of_operations(*run.operations, digests, steps)
                        : run.segments->quality();
}

void judge_replay(const HeldOut& held_out, Replay& replay, std::vector<Diagnostic>& notes) {
  replay.held_out_error = held_out.error;
  replay.half_error = held_out.half_error;
  replay.refused = refusal_of(replay);
  replay.accepted = replay.refused.empty();
  if (!replay.accepted) {
    notes.push_back(make_diagnostic("replay_refused", replay.refused));
  } else if (replay.error() > kDoubtfulError) {
    notes.push_back(
        make_diagnostic("replay_doubtful", fmt::format("the replay is {:.1f} % off over {} steps",
                                                       100 * replay.error(), replay.steps)));
  }
}

}  // namespace dprof::analyzer
