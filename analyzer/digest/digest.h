// SPDX-License-Identifier: Apache-2.0
// The result of one pass over a rank's trace, for the merge across ranks: its phases, its
// computation, its part of each collective, its steps and its losses. Raw events are not kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/digest/clock_evidence.h"
#include "analyzer/digest/collective_records.h"
#include "analyzer/digest/facts.h"
#include "analyzer/digest/gpu.h"
#include "analyzer/digest/launches.h"
#include "analyzer/digest/memory/memory.h"
#include "analyzer/digest/op_times.h"
#include "analyzer/digest/system.h"
#include "analyzer/run/run.h"
#include "analyzer/vocabulary/diagnostic.h"
#include "analyzer/vocabulary/stack.h"
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
  // If no forward is marked: operators whose nodes ran later, FSDP hooks, or launches (gpu_host.h).
  IntervalSet forward_signs;
  IntervalSet waits;  // ranges of the training thread that denote waiting for a collective
  // Of ranks without a GPU only, and not after their time is divided into pieces:
  IntervalSet named;        // other ranges of the training thread (user, NVTX)
  IntervalSet allocations;  // memory allocator ranges of the training thread
  IntervalSet gc;           // Python's garbage collection
  IntervalSet logging;
  IntervalSet profiler;                   // the profiler's own cost on the training thread
  std::vector<RunQueueSample> run_queue;  // of the training thread, in order of time

  std::vector<CommunicatorInfo> communicators;
  CollectiveRecords collectives;
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
