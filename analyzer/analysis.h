// SPDX-License-Identifier: Apache-2.0
// The whole analysis of a run: digest each rank, then merge. What the report prints and what the
// timeline draws come from here, so that a number is computed in one place.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "analyzer/align/clock_map.h"
#include "analyzer/align/rank_clocks.h"
#include "analyzer/breakdown/gpu_rows.h"
#include "analyzer/digest/level_curve.h"
#include "analyzer/report/report.h"
#include "analyzer/run.h"
#include "base/interval.h"

namespace dprof::analyzer {

struct AnalysisOptions {
  std::optional<std::pair<int64_t, int64_t>> steps;  // half-open; nullopt = all
  std::vector<int> ranks;                            // empty = all
  RowFilter rows = RowFilter::kAll;                  // of gpu_rows only
  bool cache = false;                                // use and keep digests (digest/cache.h)
  bool pieces = true;  // fill what is only for drawing: pieces, collectives, messages,
                       // curves of memory
};

// How much memory a rank held over time.
struct MemoryCurve {
  int device = -1;  // -1 = of the host
  MemorySource source = MemorySource::kResident;
  LevelCurve levels;
};

// A step of one rank on the run's axis.
struct StepWindow {
  int64_t index = 0;
  Interval window;
};

// A stretch of one rank's time with one category; a rank's pieces are in order and leave no gap
// within steps.
struct Piece {
  Interval span;
  Category category = Category::kIdle;
  // For kOverlapped the compute phase that covers it (kForward, kBackward, …); else equal to
  // category.
  Category phase = Category::kIdle;
};

// One rank's part of a collective.
struct CollectiveMember {
  int rank = 0;
  int64_t row = 0;  // id in that rank's `collective` table
  std::optional<TraceNs> enqueue;
  std::optional<TraceNs> start;
  std::optional<TraceNs> end;
  int64_t wait_ns = 0;  // of end - start, before the last member had arrived
};

// One collective over all its ranks.
struct MatchedCollective {
  std::string communicator;
  schema::Function function{};
  int64_t sequence = 0;
  std::optional<int64_t> bytes;
  bool complete = false;  // every member is there and has finished
  int64_t transfer_ns = 0;
  std::optional<int> last_arriver;
  std::vector<CollectiveMember> members;  // by rank
};

// A message from one rank to another.
struct MatchedMessage {
  std::string communicator;
  std::optional<int> from;  // nullopt = not known
  std::optional<int> to;
  std::optional<int64_t> bytes;
  std::optional<int64_t> transfer_ns;       // nullopt: not finished, or times cannot be compared
  std::optional<CollectiveMember> send;     // nullopt = that side was not recorded
  std::optional<CollectiveMember> receive;  // its wait_ns: for the sender
};

// What a rank worked beyond the median of its peers in a steady step; negative = less than they.
struct OwnDelay {
  int64_t step = 0;  // its index
  int64_t ns = 0;
};

struct RankAnalysis {
  int rank = 0;
  ClockMap clock;  // from the trace's times (shift added) to the run's axis
  std::vector<StepWindow> steps;
  std::vector<Piece> pieces;
  std::vector<OwnDelay> own_delays;  // by step; empty where ranks were not compared
  std::vector<MemoryCurve> memory;   // by device; none where nothing is known
};

struct Analysis {
  Report report;
  std::vector<RankAnalysis> ranks;  // in the order of run.traces (those selected)
  RankClocks clocks;                // in that order, too
  std::vector<MatchedCollective> collectives;
  std::vector<MatchedMessage> messages;  // by their begin
  bool damaged = false;  // run.damaged, or a trace proved unreadable while it was read: exit code 3
};

// Called now and then with what is being done and 0…1; may return false to cancel (kUsage error
// "cancelled").
using Progress = std::function<bool(std::string_view stage, double share)>;

Result<Analysis> analyze(const Run& run, const AnalysisOptions& options = {},
                         const Progress& progress = {});

}  // namespace dprof::analyzer
