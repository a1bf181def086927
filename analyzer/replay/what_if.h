// SPDX-License-Identifier: Apache-2.0
// Answers how long a step would take after a change, by replaying the recorded run with other
// durations (docs/analysis/replay.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/breakdown/result.h"
#include "analyzer/replay/change.h"
#include "analyzer/replay/played_run.h"
#include "analyzer/replay/result.h"

namespace dprof::analyzer {

enum class Doubt : uint8_t;

// Changed runs that are replayed at the same time: each has the lengths of all tasks anew, 65 MB
// for 1,024 ranks, 100 steps and 12 calls.
inline constexpr size_t kReplaysAtOnce = 2;

// Ready for questions: the GUI keeps one while its sliders move.
//
// Threading  immutable; share by const reference.
// Units      ns.
// Cost       an answer is O(tasks): 1 ms for 8 ranks and 100 steps. About 200 bytes per call and
//            piece of own work.
class WhatIfModel {
 public:
  // Additional knowledge beyond the graph.
  struct Beside {
    Replay quality;                  // how well the graph reproduces the run
    std::optional<Overlap> overlap;  // how much exposed transfer time could be hidden
    std::optional<Contention> contention;
  };
  WhatIfModel(PlayedRun run, Beside beside);

  // Applies all changes at once. An unknown name is an error; its hint lists the known ones. If the
  // recording cannot answer, that is not an error: the figures are nullopt, and `refused` says why.
  [[nodiscard]] Result<WhatIf> answer(std::span<const Change> changes) const;

  // The gain of each steady step.
  [[nodiscard]] std::vector<int64_t> gain_of(std::span<const Change> changes) const;

  // The questions that make sense for this run; and the answers with the largest gains per step,
  // each at least half a percent, best first. Only questions that can gain as much are replayed.
  [[nodiscard]] std::vector<Change> catalogue() const;
  [[nodiscard]] std::vector<WhatIf> best(size_t most) const;

  [[nodiscard]] const PlayedRun& run() const { return run_; }
  // When each task ended in the unchanged replay: on the run's axis.
  [[nodiscard]] const std::vector<int64_t>& ends() const { return ends_; }
  // Lengths of the steps in the unchanged replay, and their recorded mean.
  [[nodiscard]] const std::vector<int64_t>& unchanged() const { return unchanged_; }
  [[nodiscard]] int64_t mean_step_ns() const { return mean_step_ns_; }

 private:
  class Trial;
  struct Draft;

  [[nodiscard]] Status check(const Change& change) const;
  // The gain; complete() adds how far to trust it, which can need more replays.
  [[nodiscard]] Result<Draft> draft(std::span<const Change> changes) const;
  [[nodiscard]] WhatIf complete(std::span<const Change> changes, Draft draft) const;
  // The mean gain with the other assumption; nullopt: the change cannot be made so.
  [[nodiscard]] std::optional<double> gain_other_way(std::span<const Change> changes,
                                                     Doubt doubt) const;
  [[nodiscard]] bool is_worthwhile(double gain_ns) const;

  PlayedRun run_;
  Beside beside_;
  std::vector<int64_t> ends_;  // of tasks, unchanged
  std::vector<int64_t> unchanged_;
  int64_t mean_step_ns_ = 0;
};

// In the user's notation, in one line.
[[nodiscard]] std::string words_of(std::span<const Change> changes);

}  // namespace dprof::analyzer
