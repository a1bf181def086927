// SPDX-License-Identifier: Apache-2.0
// The division of the steps' time, and the costs of communication.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/vocabulary/category.h"
#include "base/fields.h"
#include "base/interval.h"
#include "schema/generated/rows.h"

namespace dprof::analyzer {

// A stretch of one rank's time in one category; a rank's pieces are ordered and have no gap within
// steps.
struct Piece {
  Interval span;
  Category category = Category::kIdle;
  // For kOverlapped the compute phase that covers it (kForward, kBackward, …); else the same as
  // category.
  Category phase = Category::kIdle;
};

struct RankBreakdown {
  int rank = 0;
  int64_t wall_ns = 0;
  CategoryNs category_ns{};  // sums to wall_ns exactly
  std::vector<std::pair<std::string, int64_t>>
      detail_ns;  // dotted keys, sorted: "host.unattributed"
  DPROF_FIELDS(rank, wall_ns, category_ns, detail_ns);
};

struct Breakdown {
  std::vector<RankBreakdown> per_rank;
};

// Mean energy of a rank's GPU in a steady step. A GPU shared by several ranks is divided evenly
// among them.
struct RankEnergy {
  int rank = 0;
  std::string gpu;  // UUID; "" = not known
  int64_t shared_by = 1;
  double step_j = 0;
  double bound_j = 0;  // of step_j: energy between the samples around the steps' borders
  // While the rank's device did not compute, copy or transfer, at its mean power. An upper bound,
  // since an idle device draws less.
  double waiting_j = 0;
  // Share of the whole recording's energy, while throttled. nullopt: not reported by the GPU.
  std::optional<double> throttled_share;
  bool from_power = false;  // the integral of power samples: the GPU has no counter
  DPROF_FIELDS(rank, gpu, shared_by, step_j, bound_j, waiting_j, throttled_share, from_power);
};

// Energy of a host's processors and memory.
struct HostEnergy {
  std::string host;
  double step_j = 0;
  double bound_j = 0;
  DPROF_FIELDS(host, step_j, bound_j);
};

struct Energy {
  std::vector<RankEnergy> per_rank;
  std::vector<HostEnergy> per_host;
  std::string missing;  // why ranks lack a GPU figure, and how many if not all; "" = none lacks one
  DPROF_FIELDS(per_rank, per_host, missing);
};

struct RankOverlap {
  int rank = 0;
  int64_t communication_ns = 0;
  int64_t hidden_ns = 0;
  int64_t exposed_wait_ns = 0;
  int64_t exposed_transfer_ns = 0;
  std::optional<double> ratio;         // hidden share of communication; nullopt = no communication
  std::optional<int64_t> hideable_ns;  // exposed transfer that free computation could hide
  std::optional<double> best_ratio;    // ratio with that part hidden too
  DPROF_FIELDS(rank, communication_ns, hidden_ns, exposed_wait_ns, exposed_transfer_ns, ratio,
               hideable_ns, best_ratio);
};

// A steady step, over all ranks.
struct StepOverlap {
  int64_t step = 0;  // step index
  int64_t communication_ns = 0;
  int64_t hidden_ns = 0;
  int64_t exposed_wait_ns = 0;
  int64_t exposed_transfer_ns = 0;
  std::optional<int64_t> hideable_ns;
  DPROF_FIELDS(step, communication_ns, hidden_ns, exposed_wait_ns, exposed_transfer_ns,
               hideable_ns);
};

// The collectives of one kind, over all ranks and steady steps. Concurrent ones both count, so
// these do not add up to the totals per rank.
struct CollectiveOverlap {
  std::string communicator;
  schema::Function function{};
  std::optional<int64_t> bytes;
  int64_t n = 0;  // one per rank and collective
  int64_t hidden_ns = 0;
  int64_t exposed_wait_ns = 0;
  int64_t exposed_transfer_ns = 0;
  DPROF_FIELDS(communicator, function, bytes, n, hidden_ns, exposed_wait_ns, exposed_transfer_ns);
};

struct Overlap {
  std::vector<RankOverlap> per_rank;
  std::vector<StepOverlap> per_step;
  std::vector<CollectiveOverlap> per_collective;
  DPROF_FIELDS(per_rank, per_step, per_collective);
};

// GPU rows as other tools count them (docs/analysis/gpu_rows.md).
struct RankGpuRows {
  int rank = 0;
  int64_t rows = 0;  // counted
  int64_t span_ns = 0;
  int64_t busy_ns = 0;
  int64_t idle_ns = 0;
  int64_t compute_ns = 0;
  int64_t communication_ns = 0;
  int64_t memory_ns = 0;
  int64_t overlap_ns = 0;                                 // communication with compute
  std::vector<std::pair<std::string, int64_t>> left_out;  // by reason: "no launching row"
  DPROF_FIELDS(rank, rows, span_ns, busy_ns, idle_ns, compute_ns, communication_ns, memory_ns,
               overlap_ns, left_out);
};

struct GpuRows {
  std::string filter;  // all, linked, steps-hta
  std::vector<RankGpuRows> per_rank;
  DPROF_FIELDS(filter, per_rank);
};

// The slow-down of computation beside a collective, and of a transfer beside computation.
struct Contention {
  double factor = 1;  // slowdown of computation: time-weighted median over operators; 1 = none
  int64_t operators = 0;
  int64_t hidden_cost_ns = 0;  // per steady step, mean over ranks: overlapped * (1 - 1 / factor)
  double spread = 0;           // MADn of the operators' factors
  bool of_kernels = false;     // on GPUs: `operators` are kernels by name and phase
  // Transfers with computation beside them against equal ones without; weighted median over kinds
  // of transfer. nullopt = no kind was seen both ways.
  std::optional<double> transfer_factor;
  int64_t transfer_kinds = 0;
  DPROF_FIELDS(factor, operators, hidden_cost_ns, spread, of_kernels, transfer_factor,
               transfer_kinds);
};

// A DDP bucket over all ranks and steady steps; medians. nullopt = its times were not recorded.
struct BucketSummary {
  int64_t bucket = 0;
  std::optional<int64_t> bytes;
  int64_t n = 0;
  std::optional<int64_t> order_delay_ns;  // from ready to called: lower buckets go first
  std::optional<int64_t> queue_delay_ns;  // from called to begun
  int64_t transfer_ns = 0;
  int64_t wait_ns = 0;
  int64_t exposed_ns = 0;                // without computation beside it
  std::optional<int64_t> fill_delay_ns;  // from the previous bucket being ready to this one
  DPROF_FIELDS(bucket, bytes, n, fill_delay_ns, order_delay_ns, queue_delay_ns, transfer_ns,
               wait_ns, exposed_ns);
};

struct BucketCap {
  std::optional<int64_t> cap_bytes;  // nullopt = one bucket
  int64_t buckets = 0;
  int64_t exposed_ns = 0;  // per step, by the fitted cost
  DPROF_FIELDS(cap_bytes, buckets, exposed_ns);
};

struct Buckets {
  std::vector<BucketSummary> buckets;
  std::optional<int64_t> present_exposed_ns;  // per step, by the same model
  std::optional<int64_t> bound_ns;            // lower bound over all bucketings
  std::vector<BucketCap> caps;                // empty = not searched; a diagnostic says why
  DPROF_FIELDS(buckets, present_exposed_ns, bound_ns, caps);
};

// transfer = alpha + beta * bytes, fitted to the fastest transfers of each size.
struct LinkFit {
  std::string communicator;
  schema::Function function{};
  int64_t sizes = 0;
  int64_t n = 0;
  double alpha_ns = 0;
  double beta_ns_per_byte = 0;
  double half_bytes = 0;  // the size that reaches half of the bandwidth
  double residual = 0;    // median over sizes of |measured - fitted|, relative to the measured
  DPROF_FIELDS(communicator, function, sizes, n, alpha_ns, beta_ns_per_byte, half_bytes, residual);
};

struct LastArriver {
  int rank = 0;
  double share = 0;  // of the n instances
  DPROF_FIELDS(rank, share);
};

struct CollectiveSummary {
  std::string communicator;
  schema::Function function{};
  std::optional<int64_t> bytes;
  int64_t n = 0;
  int64_t transfer_ns = 0;      // median
  int64_t wait_ns = 0;          // median of the longest wait of a member
  std::optional<double> algbw;  // bytes/s
  std::optional<double> busbw;
  std::optional<LastArriver> last_arriver;
  std::optional<double> per_step;        // median count in a steady step
  std::optional<double> apparent_busbw;  // counts waiting as transfer, for contrast
  std::optional<double> efficiency;      // busbw relative to the best of the same function and size
  std::optional<int64_t> bound_ns;       // of wait_ns; nullopt: no clocks are involved
  std::optional<int64_t> spread_ns;      // median between the members' ends; nullopt = no clocks
  int64_t group = 0;  // position in Matching::groups: communicators can share a name
  DPROF_FIELDS(communicator, function, bytes, n, transfer_ns, wait_ns, algbw, busbw, last_arriver,
               per_step, apparent_busbw, efficiency, spread_ns, bound_ns, group);
};

// Messages of one size from one rank to another.
struct PointToPoint {
  std::string communicator;
  std::optional<int> from;  // global ranks; nullopt = not recorded
  std::optional<int> to;
  std::optional<int64_t> bytes;
  int64_t n = 0;                       // messages recorded by both sides
  std::optional<double> per_step;      // median count in a steady step, over all messages
  std::optional<int64_t> transfer_ns;  // median, from when both sides had arrived
  std::optional<int64_t> wait_ns;      // median of the receiver's wait for the sender
  int64_t unmatched_sends = 0;
  int64_t unmatched_receives = 0;
  std::optional<int64_t> send_wait_ns;  // median of the sender's wait for the receiver
  std::optional<int64_t> bound_ns;      // of transfer and waits
  DPROF_FIELDS(communicator, from, to, bytes, n, per_step, transfer_ns, wait_ns, send_wait_ns,
               bound_ns, unmatched_sends, unmatched_receives);
};

struct RankPhase {
  int rank = 0;
  double per_step = 0;  // mean count in a steady step
  int64_t mean_ns = 0;  // per steady step, in total
  DPROF_FIELDS(rank, per_step, mean_ns);
};

// A phase that the program marked, by name.
struct PhaseSummary {
  std::string name;
  std::vector<RankPhase> per_rank;  // ranks that have it
  DPROF_FIELDS(name, per_rank);
};

// A group of ranks whose communication is slower than that of comparable groups
// (docs/analysis/communication.md).
struct SlowGroupInfo {
  std::string communicator;
  std::vector<int> ranks;
  double ratio = 1;  // its median transfer / its cluster's
  int64_t windows = 0;
  DPROF_FIELDS(communicator, ranks, ratio, windows);
};
// A host that the slow groups share and the healthy ones do not use.
struct SlowHost {
  std::string host;
  std::vector<int> ranks;
  int64_t groups = 0;                 // slow groups that contain it
  double ratio = 1;                   // median over those groups
  int64_t excess_ns = 0;              // of transfers, per step while slow; of its worst rank
  std::optional<int64_t> onset_step;  // first slow step, if within the steady steps
  DPROF_FIELDS(host, ranks, groups, ratio, excess_ns, onset_step);
};
// Transfers that became slower within the run, compared with themselves: shows when, but not where.
struct SlowTransfers {
  std::string communicator;
  schema::Function function{};
  std::optional<int64_t> bytes;
  double ratio = 1;       // median from then on / median before
  int64_t step = 0;       // step index
  int64_t excess_ns = 0;  // per transfer
  DPROF_FIELDS(communicator, function, bytes, ratio, step, excess_ns);
};
struct SlowLinks {
  std::vector<SlowGroupInfo> groups;
  std::vector<std::string> suspects;  // hosts (or links) that explain all of them; empty = unknown
  bool within_only = false;           // somewhere within these groups; the host is unknown
  std::vector<SlowHost> hosts;        // the suspects; empty where within_only
  std::vector<SlowTransfers> onsets;  // a single communicator can be compared only with itself
  DPROF_FIELDS(groups, suspects, within_only, hosts, onsets);
};

}  // namespace dprof::analyzer
