// SPDX-License-Identifier: Apache-2.0
// Runs of ordinary traces for tests: what a DDP training over Gloo on CPUs leaves in its traces,
// with a known truth.
//
// A tiny forward simulation moves all ranks through their steps: a bucket's all-reduce begins on
// each rank when that rank has its gradients and its worker is free, and ends on all of them a
// transfer after the last has begun. So delays, waits and transfers agree across ranks, as they do
// in a real run.
//
// Deterministic: the same RunSpec gives the same rows on every machine. Times are ns since the
// run's origin.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "schema/generated/rows.h"

namespace dprof::test_support {

enum class Phase : uint8_t { kInput, kForward, kBackward, kOptimizer, kCheckpoint };

// How the extra time shows in the trace.
enum class DelayForm : uint8_t {
  kOp,    // as one long operator: slow computation
  kHost,  // as time in which nothing is recorded: Python, a sleep, a preempted process
};

// Extra time of a rank in one phase of some steps. It comes first in its phase, so in backward
// before any bucket.
struct Delay {
  int rank = 0;  // ignored if rotating
  Phase phase = Phase::kForward;
  int64_t ns = 0;
  int64_t first_step = 0;
  int64_t end_step = std::numeric_limits<int64_t>::max();  // half-open
  int64_t every = 1;      // 10: in each tenth step from first_step on
  bool rotating = false;  // hits rank (step % ranks)
  DelayForm form = DelayForm::kOp;
};

enum class StepMarks : uint8_t {
  kMarker,     // ranges step, input, forward, backward, optimizer: as dprof-trainer marks them
  kOptimizer,  // what PyTorch emits by itself for an unmodified script: loader, DDP forward,
               // Optimizer.step
  kNone,       // operators, autograd nodes and collectives only
};

// SIGKILL of a rank in its backward, before the first bucket of that step; the other ranks hang in
// that all-reduce until they end, too.
struct Kill {
  int rank = 0;
  int64_t step = 0;
  std::string status = "signal:9";   // of that rank: how its process ended
  std::string others = "signal:15";  // of the rest
  std::string exception;             // of that rank, as the trace has it; "" = none
  std::string output;
  int64_t outlives_ns = 0;          // its process ends so long after its last event
  int64_t others_ns = 100'000'000;  // the others end so long after its last event
};

// Blocking messages from one rank to another, at the end of each step, in the order of the list:
// the receive ends a transfer after both sides have come, and so does the send.
struct MessageSpec {
  int from = 0;
  int to = 1;
  int64_t bytes = 1'000'000;
  int64_t transfer_ns = 500'000;
  int64_t per_step = 1;
  bool any_source = false;  // the receiver does not say from whom
  std::string send_mark;    // range around it; "" = none
  std::string recv_mark;
};

struct LossSpec {
  int rank = 0;
  schema::Source source = schema::Source::kTorch;
  schema::LossReason reason = schema::LossReason::kRingFull;
  int64_t count = 0;
};

struct RunSpec {
  int ranks = 2;
  int hosts = 1;  // ranks are dealt out in blocks
  int64_t steps = 30;
  StepMarks marks = StepMarks::kMarker;

  // Lengths without noise and delays.
  int64_t input_ns = 1'000'000;
  int64_t forward_ns = 8'000'000;
  int64_t backward_ns = 16'000'000;
  int64_t optimizer_ns = 2'000'000;
  int64_t gap_ns = 50'000;  // between phases; no range covers it but the step's

  // DDP's buckets in the order of their all-reduces; each becomes ready after an equal share of
  // backward.
  std::vector<int64_t> bucket_bytes = {1'048'576, 4'194'304};
  std::vector<int64_t> transfer_ns = {1'000'000, 3'000'000};  // per bucket

  // Gradient accumulation: forward and backward that often in a step, each within a range
  // micro_step.
  int64_t micro_steps = 1;
  bool sync_each = false;  // reduce in each of them, not only in the last

  std::vector<MessageSpec> messages;

  std::vector<Delay> delays;
  double noise = 0;  // standard deviation of each phase's length, relative to it
  uint64_t seed = 1;

  // Detail of the operators: outermost ones per phase, and how deep each nests (1 = no children).
  int ops_per_phase = 6;
  int op_depth = 2;

  bool collectives = true;  // false: light detail, in which Gloo's are not recorded
  bool step_table = true;   // fill the table `step` as well
  bool run_json = true;     // write the run folder's index
  std::vector<int> absent;  // ranks that take part but leave no trace
  std::optional<Kill> kill;
  std::vector<LossSpec> losses;
  std::vector<int64_t> host_clock_offset_ns;  // added to every time of that host; missing = 0
};

struct Span {
  int64_t begin = 0;
  int64_t end = 0;

  [[nodiscard]] int64_t length() const { return end - begin; }
};

// One rank's part of one all-reduce. nullopt: it never came to that.
struct CollectiveTimes {
  std::optional<int64_t> enqueue_ns;
  std::optional<int64_t> start_ns;
  std::optional<int64_t> end_ns;
  int64_t wait_ns = 0;  // from start until the last rank had begun
};

// One forward and backward.
struct MicroStepTimes {
  Span micro_step;
  Span forward;
  Span backward;
  int64_t backward_compute_end_ns =
      0;  // from here to backward's end the rank waits for its buckets
  std::vector<CollectiveTimes> buckets;  // empty where nothing is reduced
};

// One side of a message.
struct MessageTimes {
  size_t message = 0;  // position in RunSpec::messages
  bool sends = false;
  Span span;
};

// One step of one rank: its last micro-step, and the earlier ones. In a step that a kill cuts off,
// ends may lie after the rank's end_ns.
struct StepTimes : MicroStepTimes {
  Span step;
  Span input;
  Span optimizer;
  Span checkpoint;  // empty in most steps
  std::vector<MicroStepTimes> earlier;
  std::vector<MessageTimes> messages;
};

struct RankTimes {
  int64_t end_ns = 0;  // last moment that is in the trace
  std::string ended = "complete";
  CollectiveTimes startup;  // the broadcast of the parameters, before the first step
  std::vector<StepTimes> steps;
};

// The truth behind the traces, without the host clocks' offsets.
struct RunTimes {
  std::vector<RankTimes> ranks;
};

[[nodiscard]] RunTimes simulate(const RunSpec& spec);

// File of a rank in a run folder: rank-00000.dprof.
[[nodiscard]] std::string trace_file_name(int rank);

// Makes the folder `path`, one trace per rank and run.json. Fails if a trace is there already.
Result<RunTimes> write_run(const std::filesystem::path& path, const RunSpec& spec);

// A run with at least `events_per_rank` rows in each rank's event tables, a hundred or more per
// step: for measurements. About 1 us per row to write.
[[nodiscard]] RunSpec volume_spec(int64_t events_per_rank, int ranks = 2);

}  // namespace dprof::test_support
