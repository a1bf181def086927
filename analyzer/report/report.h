// SPDX-License-Identifier: Apache-2.0
// The typed result of an analysis, as architecture 4.2 lays it down. Every renderer (text, JSON, …)
// and the GUI show this and compute nothing. Times are integer ns; std::nullopt = not computed (a
// diagnostic says why), an empty list = looked, found none.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/report/memory.h"
#include "schema/diagnostics.h"
#include "schema/generated/rows.h"

namespace dprof::analyzer {

struct Diagnostic {
  std::string code;  // of the catalogue
  schema::Severity severity = schema::Severity::kInfo;
  int64_t count = 1;
  std::string text;  // with file and hint
};
[[nodiscard]] Diagnostic make_diagnostic(std::string_view code, std::string text,
                                         int64_t count = 1);

// The parts of a step's wall time (analysis.md section 4), in the order of the report. Every
// nanosecond has exactly one.
enum class Category : uint8_t {
  kForward,
  kBackward,
  kOptimizer,
  kOtherCompute,
  kOverlapped,
  kExposedWait,
  kExposedTransfer,
  kCopy,
  kInputWait,
  kSyncBubble,
  kAllocator,
  kHost,
  kLaunch,
  kDependency,
  kIdle,
  kProfiler,
};
inline constexpr size_t kCategories = 16;
[[nodiscard]] std::string_view key_of(Category category);    // as in JSON: "exposed_wait"
[[nodiscard]] std::string_view title_of(Category category);  // for people: "exposed wait"
using CategoryNs = std::array<int64_t, kCategories>;

// A step that is not like the others.
struct OuterEvent {
  int64_t step = 0;      // step index
  std::string kind;      // checkpoint, validation, other
  int64_t extra_ns = 0;  // beyond the median step
};

struct StepsInfo {
  int64_t count = 0;
  int64_t first_steady = 0;  // step indices, both included
  int64_t last_steady = 0;
  int64_t steady = 0;     // how many: recording with --every leaves gaps between indices
  int64_t median_ns = 0;  // over steady steps, of the longest rank's window
  schema::StepSource source = schema::StepSource::kMarker;
  std::optional<int64_t> micro_steps;  // per step, the usual number; nullopt = cannot be told
  std::vector<OuterEvent> outer;       // among the steady steps, by index
};

struct RunInfo {
  std::string name;
  std::string command;
  int64_t ranks = 0;
  int64_t hosts = 0;
  std::optional<int64_t> world_size;
  std::optional<StepsInfo> steps;
};

struct Loss {
  int rank = 0;
  schema::Source source{};
  schema::LossReason reason{};
  int64_t count = 0;
};

struct Overhead {
  std::optional<double> share;  // of wall time, of the costliest rank
  std::optional<int64_t> in_process_ns;
  std::optional<int64_t> recorder_cpu_ns;
  std::string how;
};

struct Recording {
  int64_t events = 0;  // rows in event tables
  std::vector<Loss> lost;
  std::vector<Diagnostic> diagnostics;
  std::optional<Overhead> overhead;
};

// Records that should have been there and are not. What an importer had no use for is none of them:
// its diagnostics tell of that.
[[nodiscard]] bool is_lost(const Loss& loss);
[[nodiscard]] int64_t lost_records(const Recording& recording);

// How far one host's clock was ahead of the reference's, and how well that is known.
struct HostClock {
  std::string host;
  int64_t offset_ns = 0;  // at `at_ns`
  int64_t at_ns = 0;      // the middle of the host's recording, on the run's axis
  int64_t drift_ppb = 0;
  std::optional<int64_t> bound_ns;   // largest over the recording; nullopt = no bound can be given
  std::optional<int64_t> likely_ns;  // spread of the best probes: the error that is to be expected
  std::string method;  // same clock, probes, collectives, probes and collectives, none
  int64_t probes = 0;  // answered probes that it was computed from
  int64_t resets = 0;  // steps of the clock that were seen; the fit is split there
};

// How well the clock of a GPU is tied to its host's.
struct DeviceClock {
  int rank = 0;
  int64_t device = 0;
  int64_t kernels = 0;                 // with a known launch
  int64_t before_launch = 0;           // of these, begun before their launch was called
  std::optional<int64_t> residual_ns;  // of the fit of host against device times
  bool reliable = true;
};

struct Clock {
  std::string reference;
  std::vector<HostClock> hosts;
  std::vector<DeviceClock> devices;
  int64_t violations = 0;  // synchronising collectives that ended somewhere before all had begun
  int64_t checked = 0;     // collectives that this was looked at for
};

struct RankBreakdown {
  int rank = 0;
  int64_t wall_ns = 0;
  CategoryNs category_ns{};  // sums to wall_ns exactly
  std::vector<std::pair<std::string, int64_t>>
      detail_ns;  // dotted keys, sorted: "host.unattributed"
};

struct Breakdown {
  std::vector<RankBreakdown> per_rank;
};

struct RankOverlap {
  int rank = 0;
  int64_t communication_ns = 0;
  int64_t hidden_ns = 0;
  int64_t exposed_wait_ns = 0;
  int64_t exposed_transfer_ns = 0;
  std::optional<double> ratio;         // hidden, of the communication; nullopt = there is none
  std::optional<int64_t> hideable_ns;  // of exposed transfer: computation was left to hide it
  std::optional<double> best_ratio;    // with that hidden too
};

// A steady step, over all ranks.
struct StepOverlap {
  int64_t step = 0;  // step index
  int64_t communication_ns = 0;
  int64_t hidden_ns = 0;
  int64_t exposed_wait_ns = 0;
  int64_t exposed_transfer_ns = 0;
  std::optional<int64_t> hideable_ns;
};

// The collectives of one kind, over all ranks and steady steps. Where two run at once, both count:
// these do not add up to the totals per rank.
struct CollectiveOverlap {
  std::string communicator;
  schema::Function function{};
  std::optional<int64_t> bytes;
  int64_t n = 0;  // ranks' parts
  int64_t hidden_ns = 0;
  int64_t exposed_wait_ns = 0;
  int64_t exposed_transfer_ns = 0;
};

struct Overlap {
  std::vector<RankOverlap> per_rank;
  std::vector<StepOverlap> per_step;
  std::vector<CollectiveOverlap> per_collective;
};

// GPU rows as other tools count them (analysis.md 4a).
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
};

struct GpuRows {
  std::string filter;  // all, linked, steps-hta
  std::vector<RankGpuRows> per_rank;
};

// How much slower computation runs beside a collective, and a transfer beside computation.
struct Contention {
  double factor = 1;  // of computation: time-weighted median over operators; 1 = none
  int64_t operators = 0;
  int64_t hidden_cost_ns = 0;  // per steady step, mean over ranks: overlapped * (1 - 1 / factor)
  double spread = 0;           // MADn of the operators' factors
  bool of_kernels = false;     // on GPUs: `operators` are kernels by name and phase
  // Transfers that computation ran beside, against equal ones with none; weighted median over kinds
  // of transfer. nullopt = no kind was seen both ways.
  std::optional<double> transfer_factor;
  int64_t transfer_kinds = 0;
};

// A DDP bucket over all ranks and steady steps; medians. nullopt = its times were not recorded.
struct BucketSummary {
  int64_t bucket = 0;
  std::optional<int64_t> bytes;
  int64_t n = 0;
  std::optional<int64_t> order_delay_ns;  // ready until called: lower buckets go first
  std::optional<int64_t> queue_delay_ns;  // called until begun
  int64_t transfer_ns = 0;
  int64_t wait_ns = 0;
  int64_t exposed_ns = 0;                // of it, no computation beside it
  std::optional<int64_t> fill_delay_ns;  // from the bucket before it being ready to this one
};

struct BucketCap {
  std::optional<int64_t> cap_bytes;  // nullopt = one bucket
  int64_t buckets = 0;
  int64_t exposed_ns = 0;  // per step, by the fitted cost
};

struct Buckets {
  std::vector<BucketSummary> buckets;
  std::optional<int64_t> present_exposed_ns;  // per step, by the same model
  std::optional<int64_t> bound_ns;            // no bucketing exposes less
  std::vector<BucketCap> caps;  // empty = could not be searched; a diagnostic says why
};

// transfer = alpha + beta * bytes, fitted to the fastest transfers of each size.
struct LinkFit {
  std::string communicator;
  schema::Function function{};
  int64_t sizes = 0;
  int64_t n = 0;
  double alpha_ns = 0;
  double beta_ns_per_byte = 0;
  double half_bytes = 0;  // at this size half of the bandwidth is reached
  double residual = 0;    // median over sizes of |measured - fitted|, relative to the measured
};

struct LastArriver {
  int rank = 0;
  double share = 0;  // of the n instances
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
  std::optional<double> apparent_busbw;  // with waiting counted as transfer, as a contrast
  std::optional<double> efficiency;      // busbw against the best of the same function and size
  std::optional<int64_t> bound_ns;       // of wait_ns, where clocks enter; nullopt: they do not
  std::optional<int64_t> spread_ns;      // median, between the members' ends; nullopt = no clocks
};

// Messages of one size from one rank to another.
struct PointToPoint {
  std::string communicator;
  std::optional<int> from;  // global ranks; nullopt = not recorded
  std::optional<int> to;
  std::optional<int64_t> bytes;
  int64_t n = 0;                       // messages that both sides recorded
  std::optional<double> per_step;      // median count in a steady step, of all messages
  std::optional<int64_t> transfer_ns;  // median, from when both sides were there
  std::optional<int64_t> wait_ns;      // median of the receiver's wait for the sender
  int64_t unmatched_sends = 0;
  int64_t unmatched_receives = 0;
  std::optional<int64_t> send_wait_ns;  // median of the sender's wait for the receiver
  std::optional<int64_t> bound_ns;      // of transfer and waits
};

struct RankPhase {
  int rank = 0;
  double per_step = 0;  // mean count in a steady step
  int64_t mean_ns = 0;  // per steady step, all of them together
};

// A phase that the program marked, by its name.
struct PhaseSummary {
  std::string name;
  std::vector<RankPhase> per_rank;  // those that have it
};

struct Evidence {
  int rank = 0;
  std::string table;
  std::vector<int64_t> rows;  // 20 at most
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

struct Straggler {
  std::optional<int> rank;   // nullopt when rotating
  std::string shape;         // persistent, transient, periodic, rotating
  std::string cause;         // the words of architecture 4.2
  int64_t own_delay_ns = 0;  // per step, mean over steady steps
  int64_t cost_ns = 0;       // per step
  int64_t bound_ns = 0;      // half-width of the 95 % interval of cost_ns
  int64_t n = 0;             // steady steps that it was computed from
  double confidence = 0;     // 0…1
  std::vector<Evidence> evidence;
  // Where most ranks of a node share the verdict: that node and these ranks; `rank` is then the
  // dearest of them. Else empty.
  std::string host;
  std::vector<int> host_ranks;
  std::string role;                   // of whom its peers are: "stage 3 of 4"; empty = all ranks
  std::optional<int64_t> onset_step;  // since when, where it began within the steady steps
};

// What the comparison of ranks could have seen at all: nothing is claimed below it.
struct Detection {
  int64_t floor_ns = 0;  // per step: a lasting own delay from here on is found with `power`
  double power = 0.95;
  int64_t named_ns = 0;  // cost from which a culprit is named
  int64_t steps = 0;     // steady steps compared
  int64_t ranks = 0;
};

// A group of ranks that communicates slower than comparable groups (analysis.md 5.5).
struct SlowGroupInfo {
  std::string communicator;
  std::vector<int> ranks;
  double ratio = 1;  // its median transfer, by that of its cluster
  int64_t windows = 0;
};
// A host that the slow groups have in common and the healthy ones have not.
struct SlowHost {
  std::string host;
  std::vector<int> ranks;
  int64_t groups = 0;     // slow ones that contain it
  double ratio = 1;       // median of theirs
  int64_t excess_ns = 0;  // of transfers, per step while slow; of its rank that has most
  std::optional<int64_t> onset_step;  // since when, where it began within the steady steps
};
// Transfers that became slower within the run, against themselves: when, but not where.
struct SlowTransfers {
  std::string communicator;
  schema::Function function{};
  std::optional<int64_t> bytes;
  double ratio = 1;       // median from then on, by that before
  int64_t step = 0;       // step index
  int64_t excess_ns = 0;  // of one transfer
};
struct SlowLinks {
  std::vector<SlowGroupInfo> groups;
  std::vector<std::string> suspects;  // hosts (or links) that explain all of them; empty = unknown
  bool within_only = false;           // somewhere within these groups, nobody can say where
  std::vector<SlowHost> hosts;        // the suspects; empty where within_only
  std::vector<SlowTransfers> onsets;  // one communicator alone can be compared with itself only
};

// Share of the median step that a culprit costs at least, beyond what any rank's fluctuation costs.
// With two ranks no third one tells which difference is usual.
[[nodiscard]] constexpr double straggler_floor(size_t ranks) { return ranks == 2 ? 0.05 : 0.03; }

// What a rank was at when everything stood still.
struct HungRank {
  int rank = 0;
  std::string state;  // not_called, queued, running, done, no_data
  std::string last;   // the last thing that it is known to have done, in words; "" = unknown
  std::optional<int64_t> since_ns;  // for how long nothing more was heard of it
};

struct Hang {
  std::string state;  // waiting, mismatch, deadlock, dead
  std::vector<int> culprits;
  std::vector<int> waiting;
  std::string communicator;
  schema::Function function{};
  std::optional<int64_t> sequence;
  std::string reason;           // one sentence: how it was decided
  std::vector<HungRank> ranks;  // culprits first
};

struct WhatIf {
  std::string change;
  int64_t step_ns = 0;
  int64_t gain_ns = 0;
  int64_t bound_ns = 0;
};

// What a part of the run costs by itself: all else even, only its operations keep their recorded
// lengths.
struct PartSlowdown {
  std::string part;  // "stage 3 of 4", "replica 1 of 2", "forward"
  std::vector<int> ranks;
  double slowdown = 1;
};

// The run against the one in which operations of a kind take the same everywhere (analysis.md 6.1).
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
};

enum class FindingSeverity : uint8_t { kInfo, kWarn, kCritical };
[[nodiscard]] std::string_view word_of(FindingSeverity severity);

struct Finding {
  std::string rule;
  FindingSeverity severity = FindingSeverity::kInfo;
  std::string title;   // "rank 5 holds everyone up: +46.2 ms per step (15 %), in 98 % of steps"
  std::string detail;  // one or two sentences with the numbers that decided
  std::string advice;
  std::vector<int> ranks;
  std::optional<int64_t> cost_ns;  // per step
  std::optional<int64_t> bound_ns;
  std::string cause;
  double confidence = 0;
  std::optional<int> caused_by;  // index of the finding that this is a symptom of
  std::vector<Evidence> evidence;
  // For --explain, a sentence each: how it was decided and which numbers; what would refute it.
  std::vector<std::string> decided_by;
  std::vector<std::string> refuted_by;
};

struct Report {
  RunInfo run;
  Recording recording;
  std::optional<Clock> clock;
  std::optional<Breakdown> breakdown;
  std::optional<GpuRows> gpu_rows;
  std::optional<Overlap> overlap;
  std::optional<Contention> contention;
  std::optional<Buckets> buckets;
  std::optional<std::vector<LinkFit>> link_fits;
  std::optional<std::vector<CollectiveSummary>> collectives;
  std::optional<std::vector<PointToPoint>> point_to_point;
  std::optional<std::vector<PhaseSummary>> phases;
  std::optional<std::vector<Straggler>> stragglers;
  std::optional<Detection> detection;
  std::optional<SlowLinks> slow_links;
  std::optional<Hang> hang;
  std::optional<Memory> memory;
  std::optional<Replay> replay;
  std::optional<std::vector<Finding>> findings;
};

}  // namespace dprof::analyzer
