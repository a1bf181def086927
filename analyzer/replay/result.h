// SPDX-License-Identifier: Apache-2.0
// What a replay of the run tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"

namespace dprof::analyzer {

struct WhatIf {
  std::string change;
  int64_t step_ns = 0;
  int64_t gain_ns = 0;
  int64_t bound_ns = 0;
  DPROF_FIELDS(change, step_ns, gain_ns, bound_ns);
};

// What a part of the run costs by itself: all else even, only its operations keep their recorded
// lengths.
struct PartSlowdown {
  std::string part;  // "stage 3 of 4", "replica 1 of 2", "forward"
  std::vector<int> ranks;
  double slowdown = 1;
  DPROF_FIELDS(part, ranks, slowdown);
};

// The run against the one in which operations of a kind take the same everywhere
// (docs/analysis/replay.md).
struct Slowdown {
  double slowdown = 1;                      // step_ns by ideal_ns
  int64_t step_ns = 0;                      // mean step, replayed without lags
  int64_t ideal_ns = 0;                     // the same with even operations
  std::vector<PartSlowdown> stages;         // by number; empty = no pipeline
  std::vector<PartSlowdown> replicas;       // data-parallel ones, by number
  std::vector<PartSlowdown> operations;     // the dearest first
  std::vector<PartSlowdown> per_rank;       // by rank: the lesser of its stage's and its replica's
  std::optional<double> last_stage_share;   // of what is lost, gained back if only it were even
  std::optional<double> worst_ranks_share;  // likewise the worst 3 % of the ranks
  DPROF_FIELDS(slowdown, step_ns, ideal_ns, stages, replicas, operations, per_rank,
               last_stage_share, worst_ranks_share);
};

struct Replay {
  double identity_error =
      0;  // mean relative error per step of replaying the recorded run unchanged
  bool accepted = false;
  int64_t steps = 0;       // that it was computed from
  double unexplained = 0;  // share of the step in lags that no recorded cause explains
  std::string unit;        // what was replayed: "segments", "operations"
  std::vector<WhatIf> whatif;
  std::optional<Slowdown> slowdown;  // of operations only
  DPROF_FIELDS(identity_error, accepted, steps, unexplained, unit, whatif, slowdown);
};

}  // namespace dprof::analyzer
