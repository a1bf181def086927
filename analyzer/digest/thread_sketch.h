// SPDX-License-Identifier: Apache-2.0
// Condenses one thread's ranges as they stream by, before the training thread is known.
#pragma once

#include <string>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/digest/marks.h"
#include "analyzer/digest/op_times.h"
#include "analyzer/digest/range_names.h"

namespace dprof::analyzer {

// Gathers intervals that are mostly in order of their begin; nested and adjacent ones are merged
// immediately, so that memory is proportional to the outermost ones.
class IntervalGatherer {
 public:
  void add(Interval interval);
  [[nodiscard]] IntervalSet take();

 private:
  std::vector<Interval> intervals_;
  bool ordered_ = true;
};

// A range that marks a step, and its source: steps of several sources are not mixed.
struct StepMark {
  Interval span;
  std::string source;  // the name up to a '#'
  bool open = false;
};

// An operator with the sequence number of its autograd node, if it creates one. Operators without a
// node have the number of the next node: the last operator of each number counts.
struct NumberedOp {
  int64_t sequence = 0;
  Interval span;
};

struct ThreadSketch {
  schema::ThreadRole role = schema::ThreadRole::kOther;
  int64_t ranges = 0;
  std::vector<PhaseRange> phases;
  std::vector<StepMark> step_marks;
  IntervalGatherer autograd;
  IntervalGatherer ops;
  std::vector<NumberedOp> numbered_ops;  // outermost ones, the last of each number
  IntervalGatherer forward_signs;
  IntervalGatherer waits;
  IntervalGatherer named;
  IntervalGatherer allocations;
  IntervalGatherer gc;
  IntervalGatherer logging;
  IntervalGatherer profiler;
  int64_t os_tid = -1;
  MarkGatherer marks;
  TokenGatherer tokens;
  OpSumsGatherer op_sums;
  TraceNs token_until{INT64_MIN};     // end of the outermost operator so far
  TraceNs op_times_until{INT64_MIN};  // likewise, for operators seen by OpTimesGatherer
  // The range that ended last; the innermost if several did.
  std::optional<Interval> last_ended;
  int64_t last_ended_name_id = 0;

  void add(const RangeKind& kind, std::string_view name, Interval span, int64_t row, bool open);
  void add_numbered(int64_t sequence, Interval span);
  // Keeps it if it is an outermost operator or launches a graph.
  void add_token(const RangeKind& kind, int64_t name_id, Interval span);
};

// Adjacent steps with rounded times overlap slightly: the earlier one is cut at the begin of the
// later one. An overlap counts as rounding up to 1 us (the resolution of the Chrome trace format)
// and up to a tenth of either step; a step within the other is not adjacent.
void end_at_next_if_rounded(Interval& step, Interval next);

// Steps from explicit marks: those of the source with the most marks. Nested or overlapping ones of
// that source count once; an overlap by rounding does not count.
std::vector<StepMark> steps_from_marks(std::vector<StepMark> marks);

// Steps from the end of one optimizer range to the end of the next. Ranges without forward or
// backward computation between them (several optimizers) belong to one step.
std::vector<StepMark> steps_from_optimizer(const std::vector<PhaseRange>& phases,
                                           const IntervalSet& autograd);

}  // namespace dprof::analyzer
