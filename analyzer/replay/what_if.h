// SPDX-License-Identifier: Apache-2.0
// Answers how long a step would take if something were different, by replaying the recorded run
// with other durations (docs/analysis/replay.md).
#pragma once

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

// Ready to be asked: what a window keeps while its sliders move.
//
// Threading  immutable; share by const reference.
// Units      ns.
// Cost       an answer is O(tasks): 1 ms for 8 ranks and 100 steps. About 200 bytes per call and
//            piece of own work.
class WhatIfModel {
 public:
  // What it knows beyond the graph.
  struct Beside {
    Replay quality;                  // how well the graph reproduces the run
    std::optional<Overlap> overlap;  // what of exposed transfers could be hidden
    std::optional<Contention> contention;
  };
  WhatIfModel(PlayedRun run, Beside beside);

  // All changes at once. An error: a name that is not there; its hint lists those that are. What
  // the recording cannot answer is no error: its figures are nullopt, and `refused` says why.
  [[nodiscard]] Result<WhatIf> answer(std::span<const Change> changes) const;

  // What each steady step would gain.
  [[nodiscard]] std::vector<int64_t> gain_of(std::span<const Change> changes) const;

  // Questions that make sense of this run; and the answers that gain most of a step, each half a
  // percent at least, the best first.
  [[nodiscard]] std::vector<Change> catalogue() const;
  [[nodiscard]] std::vector<WhatIf> best(size_t most) const;

  [[nodiscard]] const PlayedRun& run() const { return run_; }
  // When each task ended, replayed unchanged: on the run's axis.
  [[nodiscard]] const std::vector<int64_t>& ends() const { return ends_; }
  // Lengths of the steps, replayed unchanged, and their recorded mean.
  [[nodiscard]] const std::vector<int64_t>& unchanged() const { return unchanged_; }
  [[nodiscard]] int64_t mean_step_ns() const { return mean_step_ns_; }

 private:
  class Trial;

  [[nodiscard]] Status check(const Change& change) const;

  PlayedRun run_;
  Beside beside_;
  std::vector<int64_t> ends_;  // of tasks, unchanged
  std::vector<int64_t> unchanged_;
  int64_t mean_step_ns_ = 0;
};

// As a user writes them, in one line.
[[nodiscard]] std::string words_of(std::span<const Change> changes);

}  // namespace dprof::analyzer
