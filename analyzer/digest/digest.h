// SPDX-License-Identifier: Apache-2.0
// The result of one pass over a rank's trace, for the merge across ranks: its phases, its
// computation, its part of each collective, its steps and its losses. Raw events are not kept.
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

// This rank's part of one collective, on the run's axis. A run can have 40 million of them.
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
  Time failed;  // when it ended with an error: then `end` is empty
  Time ready;   // when the last gradient of its bucket was ready
  // On a GPU: when the device had finished work launched before the call, as far as is known.
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
  bool numbered = true;            // `sequence` was recorded; else inferred from call order
  bool by_training_thread = true;  // called by the thread whose steps these are, if known

  // When the rank arrived: its call or, if that was not recorded, its begin.
  [[nodiscard]] std::optional<TraceNs> arrival() const { return enqueue ? enqueue : start; }
};
static_assert(sizeof(CollectiveRecord) == 120);

// The number of ranges of one name in a step, and their total length.
struct MarksInStep {
  size_t step = 0;  // position in RankDigest::steps
  int64_t count = 0;
  int64_t total_ns = 0;
};

struct MarkedPhase {
  std::string name;
  std::vector<MarksInStep> in_steps;  // only steps that have some, by position
};

// The time that a thread has been ready to run but without a core, since it began.
struct RunQueueSample {
  TraceNs at;
  int64_t waited_ns = 0;
};

struct LossRecord {
  schema::Source source{};
  schema::LossReason reason{};
  int64_t count = 0;
};

// A range of the training thread. Times are relative to the rank's last sign of life, so that they
// are the same on every time axis.
struct LastRange {
  std::string name;
  int64_t begun_ago_ns = 0;
  std::optional<int64_t> ended_ago_ns;  // nullopt = still open
};

// A rank's activity at the end of its trace, for hangs.
struct LastActivity {
  static constexpr size_t kOpenRanges = 8;
  static constexpr size_t kFrames = 128;

  std::vector<LastRange> open;            // innermost first; at most the kOpenRanges innermost
  std::optional<LastRange> last;          // how long it has waited for a batch
  std::optional<int64_t> loading_for_ns;  // of its first thread, taken since its last sign of life
  std::vector<StackFrame> stack;          // of its first thread, taken after its last event
};

// Invariant  sets are canonical (sorted, disjoint); phases and steps are in order of their begin,
//            collectives in order of their call.
struct RankDigest {
  int rank = 0;
  Interval span;       // first to last moment of any event
  TraceNs last_sign;   // last moment with any record in the trace
  int64_t events = 0;  // rows in event tables
  int64_t open_ranges = 0;
  bool paused_at_end = false;  // the capture was off: later events were not recorded

  std::vector<PhaseRange> phases;  // of the training thread; may nest
  IntervalSet autograd;            // autograd nodes of the training thread
  IntervalSet autograd_elsewhere;  // and of autograd's own threads
  IntervalSet ops;                 // other operators of the training thread, except calls into c10d
  // If no forward is marked: operators whose autograd nodes ran later, and FSDP's hooks.
  IntervalSet forward_signs;
  IntervalSet waits;        // ranges of the training thread that denote waiting for a collective
  IntervalSet named;        // other ranges of the training thread (user, NVTX)
  IntervalSet allocations;  // memory allocator ranges of the training thread
  IntervalSet gc;           // Python's garbage collection
  IntervalSet logging;
  IntervalSet profiler;                   // the profiler's own cost on the training thread
  std::vector<RunQueueSample> run_queue;  // of the training thread, in order of time

  std::vector<CommunicatorInfo> communicators;
  std::vector<CollectiveRecord> collectives;
  bool sequences_inferred = false;  // some sequence numbers are inferred from the order of calls
  // An operation table: phases and collectives are all of the rank's activity, a collective begins
  // when all have arrived, and gaps are waits for other operations of the table.
  bool operations = false;

  std::vector<StepRecord> steps;  // complete ones
  schema::StepSource step_source = schema::StepSource::kMarker;
  int64_t steps_begun = 0;
  // Outermost operators and graph launches of the training thread, to find unmarked steps; empty if
  // there are steps or collectives.
  std::vector<HostToken> tokens;

  std::vector<MarkedPhase> marked;  // in order of their first appearance in a step
  int64_t marks_left_out = 0;       // marked ranges of names beyond the limit

  LastActivity last_activity;
  std::vector<OpTimes> op_times;  // operators that ran both beside collectives and alone
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
