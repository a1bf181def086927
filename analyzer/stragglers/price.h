// SPDX-License-Identifier: Apache-2.0
// The cost of a delay: how much shorter the steps would be without it. "Excess over the median"
// would promise too much, because another rank would then be last.
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
  // The cost before rank:R=peers confirmed no more than this; nullopt = it was confirmed, or not
  // checked.
  std::optional<int64_t> unconfirmed_ns = {};
  // Of several ranks: the gain without the first one's delay only.
  std::optional<int64_t> first_alone_ns = {};
};

// The price of a lasting delay of this rank. If replacing its own work by its peers' (--what-if
// rank:R=peers) gains less by more than both bounds, that gain is the price. Where messages wait
// for each other, a shorter stage can merely move the waiting, and the resulting order of events
// depends on where the time is removed.
[[nodiscard]] Price confirmed(const Price& price, int rank, const WhatIfModel& model);

// Removes the delay, but keeps the rank's own fluctuation. A lasting delay is the mean of the
// rank's excess over its peers' median, in each step from its onset on; any other is the excess in
// the steps in which it shows, beyond that in the others. (A rank that took its peers' median
// instead would also lose its fluctuation, and seem to gain from that.)
//
// Uses a replay of all collectives and messages if it reproduces the run: a lasting delay is
// removed where the rank works longer than its peers between the same two calls, any other from its
// longest pieces. Without peers there, each kind of own time is shortened where it is longest.
// Otherwise uses the last rank of each step: exact if all ranks meet once per step.
//
// Cost  O(pieces of own work + steps * ranks log ranks) for each group of suspects, and three
//       replays.
class Prices {
 public:
  Prices(const Comparison& comparison, const OwnWork& work, const Roles& roles);

  // For each group of suspects. The group with the largest effect is removed first, and costs what
  // the run gains; each further one costs what its removal gains after those. If a later one gains
  // more than an earlier one, they hide each other and share their total cost. Suspects are not
  // peers.
  [[nodiscard]] std::vector<Price> of(const std::vector<std::vector<Suspect>>& groups) const;

 private:
  // The excess work of one rank.
  struct Delay {
    size_t rank = 0;
    std::vector<int64_t> ns;  // per step
    Relief relief;            // the same by pieces; only if replayed
    double error_ns = 0;      // half-width of 95 %, per step
  };
  using Delays = std::vector<Delay>;
  using ByKind = std::vector<std::vector<int64_t>>;  // [kind][entry of steps]
  // The work of a set's unsuspected ranks at each place; nullopt = none is there.
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

// The bound of a cost: `s`'s own, the error of the run's replay, and the usual error of its gains.
[[nodiscard]] int64_t bound_with_replay(const Replay& replay, int64_t median_step_ns,
                                        const Straggler& s);

// Widens all bounds by the replay's; if the replay was refused, so that its error is unknown, also
// halves the confidence.
void widen_costs(const Replay& replay, int64_t median_step_ns, std::vector<Verdict>& verdicts);

}  // namespace dprof::analyzer
