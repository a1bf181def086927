// SPDX-License-Identifier: Apache-2.0
// Ranks that hold the others up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/vocabulary/evidence.h"
#include "base/fields.h"

namespace dprof::analyzer {

struct Straggler {
  std::optional<int> rank;   // nullopt when rotating
  std::string shape;         // persistent, transient, periodic, rotating
  std::string cause;         // docs/analysis/stragglers.md lists them
  int64_t own_delay_ns = 0;  // per step, mean over steady steps
  int64_t cost_ns = 0;       // per step
  int64_t bound_ns = 0;      // half-width of the 95 % interval of cost_ns
  int64_t n = 0;             // steady steps from which it was computed
  double confidence = 0;     // 0…1
  std::vector<Evidence> evidence;
  // If most ranks of a node, a stage or a group share the verdict: `host_ranks` are these ranks,
  // the price is theirs together, and `rank` is the slowest of them. `host`: that node. Else empty.
  std::string host;
  std::vector<int> host_ranks;
  std::string role;                   // that of its peers: "stage 3 of 4"; empty = all ranks
  std::optional<int64_t> onset_step;  // its first step, if it began within the steady steps
  std::string group;                  // of these ranks: "pipeline 2 of 4", or a communicator; or ""
  DPROF_FIELDS(rank, shape, cause, own_delay_ns, cost_ns, bound_ns, n, confidence, evidence, host,
               host_ranks, role, onset_step, group);
};

// The detection limit of the comparison: nothing is claimed below it.
struct Detection {
  int64_t floor_ns = 0;  // per step: a lasting own delay from here on is found with `power`
  double power = 0.95;
  int64_t named_ns = 0;  // cost from which a culprit is named
  int64_t steps = 0;     // steady steps compared
  int64_t ranks = 0;
  DPROF_FIELDS(floor_ns, power, named_ns, steps, ranks);
};

// The least share of the median step that a culprit costs, above the cost of any rank's
// fluctuation. With two ranks no third one shows which difference is usual.
[[nodiscard]] constexpr double straggler_floor(size_t ranks) { return ranks == 2 ? 0.05 : 0.03; }

struct Verdict {
  Straggler straggler;        // as in the report
  bool named = false;         // costs enough to be called a culprit; else only listed
  double share_of_steps = 0;  // of the steps in which it shows
  int64_t step_ns = 0;        // a step without it
  // The kind of its delay: own time of that kind per step where it shows, and the peers' median.
  std::string kind;  // "input wait", "backward", …; empty = several
  int64_t kind_ns = 0;
  int64_t peers_kind_ns = 0;
  // A sentence each: how it was decided, with the numbers; what would refute it.
  std::vector<std::string> decided_by;
  std::vector<std::string> refuted_by;
};

// A rank's work beyond its peers' median in a steady step; negative = less than the median.
struct OwnDelay {
  int64_t step = 0;  // its index
  int64_t ns = 0;
};

}  // namespace dprof::analyzer
