// SPDX-License-Identifier: Apache-2.0
// The cost of a delay: how much shorter the steps would be without it. "Excess over the median"
// would promise too much, for another rank would be last.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/replay/replayer.h"
#include "analyzer/replay/result.h"
#include "analyzer/replay/what_if.h"
#include "analyzer/stragglers/detect.h"
#include "analyzer/stragglers/own_work.h"
#include "analyzer/stragglers/result.h"
#include "analyzer/stragglers/roles.h"
#include "analyzer/stragglers/stragglers.h"

namespace dprof::analyzer {

struct Price {
  int64_t cost_ns = 0;   // per step, mean over all of them
  int64_t bound_ns = 0;  // half-width of the 95 % interval
  // What it was before rank:R=peers confirmed no more than this; nullopt = it did, or was not
  // asked.
  std::optional<int64_t> unconfirmed_ns = {};
};

// The price of a lasting delay of this rank, where the other way of asking, with its peers' own
// work in its place (--what-if rank:R=peers), gains less by more than both bounds: then that. Where
// messages wait for each other a shorter stage may only move the waiting, and which order of events
// it leaves depends on where the time is taken off.
[[nodiscard]] Price confirmed(const Price& price, int rank, const WhatIfModel& model);

// A rank keeps its own fluctuation; what goes is its delay. That of a lasting one is the mean of
// what it does beyond its peers' median, in each step from its onset on; that of any other what it
// does in the steps in which it shows beyond what it does there in the others. (A rank that took
// its peers' median instead would also lose its fluctuation, and seem to win by that.)
//
// By a replay of all collectives and messages, if it reproduces the run: a lasting delay goes where
// the rank works longer than its peers do between the same two calls, any other where its longest
// pieces are. Without peers there, each kind of own time becomes shorter where it is longest. Else
// by who is last in a step: exact where all meet once in it.
//
// Cost  O(pieces of own work + steps * ranks log ranks) for each group of suspects, and three
//       replays.
class Prices {
 public:
  Prices(const Comparison& comparison, const OwnWork& work, const Roles& roles);

  // For each group of suspects. Of several at once the one that weighs most goes first, and costs
  // what the run gains by that; each other one what it gains when it goes after those. Where a
  // later one gains more than one before it, they hide each other, and share: together all of them
  // bear what they cost. Suspects are no peers.
  [[nodiscard]] std::vector<Price> of(const std::vector<std::vector<Suspect>>& groups) const;

 private:
  // What one rank does too much of.
  struct Delay {
    size_t rank = 0;
    std::vector<int64_t> ns;  // per step
    Relief relief;            // the same by pieces; only where it is replayed
    double error_ns = 0;      // half-width of 95 %, per step
  };
  using Delays = std::vector<Delay>;
  using ByKind = std::vector<std::vector<int64_t>>;  // [kind][entry of steps]
  // What the ranks of a set that nobody suspects do at each place; nullopt = none is there.
  using Usual = std::vector<std::optional<int64_t>>;

  template <typename Get>
  [[nodiscard]] int64_t excess_in(size_t rank, const std::vector<bool>& suspected,
                                  const Get& get) const;
  template <typename Get>
  [[nodiscard]] std::vector<int64_t> excess(size_t rank, const std::vector<bool>& suspected,
                                            const Get& get) const;
  [[nodiscard]] Delay delay_of(const Suspect& suspect, const std::vector<bool>& suspected,
                               const std::vector<Usual>& usual) const;
  [[nodiscard]] Delays delays_by_turns(const Suspect& suspect,
                                       const std::vector<bool>& suspected) const;
  [[nodiscard]] std::vector<int64_t> lengths(const Delays& delays) const;
  [[nodiscard]] std::vector<int64_t> gain(const Delays& delays) const;
  [[nodiscard]] Relief relief_by_kinds(size_t rank, const ByKind& delay) const;
  [[nodiscard]] Usual usual_at_places(size_t set, const std::vector<bool>& suspected) const;
  [[nodiscard]] std::optional<Relief> relief_by_places(const Suspect& suspect,
                                                       const std::vector<int64_t>& delay,
                                                       const Usual& usual) const;
  [[nodiscard]] std::vector<std::vector<int64_t>> shares_of(
      const std::vector<Delays>& groups) const;

  const Comparison& c_;
  const OwnWork& work_;
  const Roles& roles_;
  const Replayer* replayer_;  // nullptr: it does not reproduce the run
};

// Costs can be wrong by what the replay of the run itself is, and by what its gains are usually off
// by: the bound of `s` with both.
[[nodiscard]] int64_t bound_with_replay(const Replay& replay, int64_t median_step_ns,
                                        const Straggler& s);

// All bounds with the replay's; where it was refused, so that its error could not be told, the
// confidence is halved as well.
void widen_costs(const Replay& replay, int64_t median_step_ns, std::vector<Verdict>& verdicts);

}  // namespace dprof::analyzer
