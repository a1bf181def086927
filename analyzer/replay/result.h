// SPDX-License-Identifier: Apache-2.0
// The results of replaying the run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"

namespace dprof::analyzer {

// The run with a change (docs/analysis/replay.md). nullopt: the recording cannot answer it;
// `refused` says why.
struct WhatIf {
  std::string change;               // "input=0"; of several at once: "input=0 + rank:1=peers"
  std::optional<int64_t> step_ns;   // mean step
  std::optional<int64_t> gain_ns;   // per step; negative = longer
  std::optional<int64_t> bound_ns;  // half-width of the 95 % interval of both
  std::string valid_because;        // its basis
  std::string bias;                 // direction of its error
  std::string refused;
  bool asked = false;  // by the user; else it is among the best of the catalogue
  DPROF_FIELDS(change, step_ns, gain_ns, bound_ns, valid_because, bias, refused, asked);
};

// Time on the critical path by name, per step, mean over all steps.
struct OnPath {
  std::string name;  // a category, "rank 3", "all_reduce default_pg 25.0 MB"
  int64_t ns = 0;
  double share = 0;                // of the path
  double criticality = 0;          // share of the steps in which it is on the path
  std::optional<int64_t> gain_ns;  // per step if it took 10 % less, by the replay
  DPROF_FIELDS(name, ns, share, criticality, gain_ns);
};

struct StepPath {
  int64_t step = 0;       // step index
  int64_t length_ns = 0;  // replayed
  int last_rank = 0;      // the rank that ended it
  int64_t hand_overs = 0;
  std::string longest;  // the largest part of it
  int64_t longest_ns = 0;
  DPROF_FIELDS(step, length_ns, last_rank, hand_overs, longest, longest_ns);
};

// The path continues on another rank: `to` waited for `from` in a collective or message.
struct HandOver {
  int from = 0;
  int to = 0;
  std::string by;  // "all_reduce default_pg"
  double per_step = 0;
  DPROF_FIELDS(from, to, by, per_step);
};

// By how much it could be longer in a step without lengthening the step: mean over the steps of the
// smallest value in each.
struct PathSlack {
  int rank = 0;
  std::string name;  // a category
  int64_t ns = 0;
  DPROF_FIELDS(rank, name, ns);
};

// The chain that determines the length of the steps, across ranks (docs/analysis/replay.md).
struct CriticalPath {
  std::vector<StepPath> per_step;
  std::vector<OnPath> by_category;  // longest first, like all that follow
  std::vector<OnPath> by_rank;
  std::vector<OnPath> by_phase;
  std::vector<OnPath> by_name;
  std::vector<HandOver> hand_overs;
  std::vector<PathSlack> slack;  // by rank
  DPROF_FIELDS(per_step, by_category, by_rank, by_phase, by_name, hand_overs, slack);
};

// The cost of a part of the run alone: only its operations keep their recorded lengths, all others
// are even.
struct PartSlowdown {
  std::string part;  // "stage 3 of 4", "replica 1 of 2", "forward"
  std::vector<int> ranks;
  double slowdown = 1;
  DPROF_FIELDS(part, ranks, slowdown);
};

// The run compared with one in which operations of a kind take equally long everywhere
// (docs/analysis/replay.md).
struct Slowdown {
  double slowdown = 1;                      // step_ns by ideal_ns
  int64_t step_ns = 0;                      // mean step, replayed without lags
  int64_t ideal_ns = 0;                     // the same with even operations
  std::vector<PartSlowdown> stages;         // by number; empty = no pipeline
  std::vector<PartSlowdown> replicas;       // data-parallel ones, by number
  std::vector<PartSlowdown> operations;     // the most expensive first
  std::vector<PartSlowdown> per_rank;       // by rank: the smaller of its stage's and its replica's
  std::optional<double> last_stage_share;   // of the loss, gained back if only it were even
  std::optional<double> worst_ranks_share;  // likewise the worst 3 % of the ranks
  DPROF_FIELDS(slowdown, step_ns, ideal_ns, stages, replicas, operations, per_rank,
               last_stage_share, worst_ranks_share);
};

// The combined cost of several findings: less or more than the sum of their costs.
struct CostTogether {
  std::vector<int64_t> findings;  // positions in the report's findings
  std::string change;
  int64_t gain_ns = 0;  // per step
  int64_t bound_ns = 0;
  DPROF_FIELDS(findings, change, gain_ns, bound_ns);
};

struct Replay {
  double identity_error =
      0;  // mean relative error per step of replaying the recorded run unchanged
  bool accepted = false;
  int64_t steps = 0;       // from which it was computed
  double unexplained = 0;  // share of the step in lags that no recorded cause explains
  std::string unit;        // what was replayed: "segments", "operations"
  std::vector<WhatIf> whatif;
  std::optional<Slowdown> slowdown;  // of operations only
  // Even steps predicted from odd ones; if the load changed, one half from the other; relative to
  // the step (analyzer/replay/held_out.h).
  std::optional<double> held_out_error;
  std::optional<double> half_error;
  std::string refused;  // why it is not accepted
  std::optional<CostTogether> together;
  DPROF_FIELDS(identity_error, accepted, steps, unexplained, unit, whatif, slowdown, held_out_error,
               half_error, refused, together);

  // The largest of its errors.
  [[nodiscard]] double error() const {
    return std::max({identity_error, held_out_error.value_or(0), half_error.value_or(0)});
  }
};

}  // namespace dprof::analyzer
