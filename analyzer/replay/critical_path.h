// SPDX-License-Identifier: Apache-2.0
// The critical path of each step: traced back from its end, from rank to rank
// (docs/analysis/replay.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/replay/result.h"
#include "analyzer/replay/what_if.h"

namespace dprof::analyzer {

// A stretch of the path, or of a rank's line beside it.
struct PathPiece {
  enum class What : uint8_t { kWork, kTransfer, kUnexplained };
  What what = What::kWork;
  int64_t begin_ns = 0;  // on the run's axis
  int64_t end_ns = 0;
  uint32_t entry = 0;  // of PlayedRun::ranks
  uint32_t index = 0;  // kWork: of PlayedRun::works; kTransfer: of moves
};

// A piece that waited for another rank's piece.
struct PathHop {
  int64_t at_ns = 0;
  uint32_t from = 0;  // the entry that was waited for
  uint32_t to = 0;
  uint32_t move = 0;  // of PlayedRun::moves: the one of `to`
};

struct PathOfStep {
  std::vector<PathPiece> pieces;  // in order of time
  std::vector<PathHop> hops;      // likewise
  uint32_t last = 0;              // the entry that ended the step
};

// Threading  immutable; the model outlives it.
// Cost       made in O(tasks + edges); a step's path is O(its length).
class PathFinder {
 public:
  explicit PathFinder(const WhatIfModel& model);

  // Between the end of the previous step and its own. `step`: entry of PlayedRun::steps.
  [[nodiscard]] PathOfStep path(size_t step) const;

  // By task: by how much it could end later without lengthening any step.
  [[nodiscard]] const std::vector<int64_t>& slack() const { return slack_; }

 private:
  const WhatIfModel& model_;
  std::vector<int64_t> step_ends_;
  std::vector<int64_t> slack_;
};

// report.critical_path. O(tasks + edges), plus a replay for each candidate tried at 90 %.
[[nodiscard]] CriticalPath critical_path_of(const WhatIfModel& model);

}  // namespace dprof::analyzer
