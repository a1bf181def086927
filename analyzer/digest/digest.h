// SPDX-License-Identifier: Apache-2.0
// What one pass over a rank's trace leaves for the merge across ranks: its phases, its computation,
// its part of each collective, its steps and what was lost. Raw events are not kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/digest/clock_evidence.h"
#include "analyzer/digest/facts.h"
#include "analyzer/digest/gpu.h"
#include "analyzer/digest/launches.h"
#include "analyzer/digest/memory/memory.h"
#include "analyzer/digest/op_times.h"
#include "analyzer/digest/system.h"
#include "analyzer/run/run.h"
#include "analyzer/vocabulary/diagnostic.h"
#include "analyzer/vocabulary/stack.h"
#include "base/compact_optional.h"
#include "base/interval.h"
#include "base/shared_list.h"
#include "schema/generated/rows.h"
#include "schema/marker_names.h"

namespace dprof::analyzer {

struct CommunicatorInfo {
  int64_t hash = 0;
  int64_t ordinal = 0;
  std::string name;  // PyTorch's, else the hash in hexadecimal
  std::optional<int64_t> size;
  SharedList<int> members;            // global ranks; empty = unknown
  std::optional<int64_t> own_number;  // this rank's number within it
  schema::Backend backend{};
};

// This rank's part of one collective, on the run's axis. A run may have 40 million of them.
struct CollectiveRecord {
  using Number = CompactOptional<int64_t>;
  using SmallNumber = CompactOptional<int64_t, int32_t>;
  using Time = CompactOptional<TraceNs>;

  int64_t row = 0;
  int64_t sequence = 0;
  Number group_sequence;
  Number bytes;
  Number count;  // elements of this rank's input
  Time enqueue;
  Time start;
  Time end;
  Time failed;  // when it ended with an error: then it has no end
  Time ready;   // when its bucket's last gradient was ready
  // On a GPU: when the device had done what was launched before the call, as far as is known.
  Time device_ready;
  Number correlation;  // of its kernel's launch
  SmallNumber root;
  SmallNumber peer;           // number in the communicator; nullopt = any, or not recorded
  SmallNumber bucket;         // of DDP
  uint32_t communicator = 0;  // index into RankDigest::communicators
  SmallEnum<schema::Function> function;
  SmallEnum<schema::DataType> dtype;
  SmallEnum<schema::Reduction> reduction;
  SmallEnum<schema::CollectiveState> state;
  bool captured = false;           // in a CUDA graph
  bool numbered = true;            // `sequence` was recorded; else it is by order of call
  bool by_training_thread = true;  // called by the thread whose steps these are, as far as is known

  // When the rank came to it: its call, or where that was not recorded, its beginning.
  [[nodiscard]] std::optional<TraceNs> arrival() const { return enqueue ? enqueue : start; }
};
static_assert(sizeof(CollectiveRecord) == 120);

// How often ranges of one name stand in a step, and their length together.
struct MarksInStep {
  size_t step = 0;  // position in RankDigest::steps
  int64_t count = 0;
  int64_t total_ns = 0;
};

struct MarkedPhase {
  std::string name;
  std::vector<MarksInStep> in_steps;  // only those that have any, by position
};

// For how long a thread was ready to run and on no core, since it began.
struct RunQueueSample {
  TraceNs at;
  int64_t waited_ns = 0;
};

struct LossRecord {
  schema::Source source{};
  schema::LossReason reason{};
  int64_t count = 0;
};

// A range of the training thread. Times are how long ago, seen from the last sign of the rank, so
// that they are the same on every time axis.
struct LastRange {
  std::string name;
  int64_t begun_ago_ns = 0;
  std::optional<int64_t> ended_ago_ns;  // nullopt = still open
};

// What a rank was at when its trace ended, for hangs.
struct LastActivity {
  static constexpr size_t kOpenRanges = 8;
  static constexpr size_t kFrames = 128;

  std::vector<LastRange> open;            // innermost first; the innermost kOpenRanges of them
  std::optional<LastRange> last;          // the one that ended last
  std::optional<int64_t> loading_for_ns;  // waits for a batch since then
  std::vector<StackFrame> stack;          // of its first thread, taken since its last sign of life
};

// Invariant  sets are canonical (sorted, disjoint); phases, steps and collectives are in order of
//            their begin, collectives in that of their call.
struct RankDigest {
  int rank = 0;
  Interval span;       // first to last moment of any event
  TraceNs last_sign;   // last moment of which the trace tells anything
  int64_t events = 0;  // rows in event tables
  int64_t open_ranges = 0;
  bool paused_at_end = false;  // the capture was off: what came then was not recorded

  std::vector<PhaseRange> phases;  // of the training thread; may nest
  IntervalSet autograd;            // autograd nodes of the training thread
  IntervalSet autograd_elsewhere;  // and of autograd's own threads
  IntervalSet ops;                 // other operators of the training thread, calls into c10d apart
  // Where nobody marked a forward: operators whose autograd nodes ran later, and FSDP's hooks.
  IntervalSet forward_signs;
  IntervalSet waits;        // ranges of the training thread that say they wait for a collective
  IntervalSet named;        // other ranges of the training thread (user, NVTX)
  IntervalSet allocations;  // of these: the allocator at work
  IntervalSet gc;           // Python's garbage collection
  IntervalSet logging;
  IntervalSet profiler;                   // the profiler's own cost on the training thread
  std::vector<RunQueueSample> run_queue;  // of the training thread, in order of time

  std::vector<CommunicatorInfo> communicators;
  std::vector<CollectiveRecord> collectives;
  bool sequences_inferred = false;  // some sequence numbers are by order of call
  // An operation table: phases and collectives are all that the rank did, a collective begins when
  // all have come, and what lies between is waiting for something that is in the table, too.
  bool operations = false;

  std::vector<StepRecord> steps;  // complete ones
  schema::StepSource step_source = schema::StepSource::kMarker;
  int64_t steps_begun = 0;
  // Outermost operators and graph launches of the training thread, for steps that nobody marked;
  // empty where steps or collectives are there.
  std::vector<HostToken> tokens;

  std::vector<MarkedPhase> marked;  // in order of their first appearance in a step
  int64_t marks_left_out = 0;       // marked ranges of further names

  LastActivity last_activity;
  std::vector<OpTimes> op_times;  // of the operators that ran both beside collectives and alone
  std::vector<OpSum> op_sums;     // of the training thread, by their time, longest first

  GpuDigest gpu;
  ClockEvidence clock;
  MemoryDigest memory;
  Facts facts;
  SystemDigest system;

  std::vector<LossRecord> losses;
  std::vector<Diagnostic> remarks;  // the recorder's own diagnostics
  std::optional<int64_t> in_process_ns;
  std::optional<int64_t> recorder_cpu_ns;
};

// Reads one trace. O(rows) time; memory O(phases + outermost operators + collectives).
Result<RankDigest> digest_rank(const TraceFile& trace);

}  // namespace dprof::analyzer
