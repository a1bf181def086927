// SPDX-License-Identifier: Apache-2.0
// One rank's part of an analysis, as drawn on the timeline.
#pragma once

#include <vector>

#include "analyzer/align/clock_map.h"
#include "analyzer/breakdown/result.h"
#include "analyzer/memory/result.h"
#include "analyzer/steps/result.h"
#include "analyzer/stragglers/result.h"

namespace dprof::analyzer {

struct RankAnalysis {
  int rank = 0;
  ClockMap clock;  // from the trace's times (shift added) to the run's axis
  std::vector<StepWindow> steps;
  std::vector<Piece> pieces;
  std::vector<OwnDelay> own_delays;  // by step; empty if ranks were not compared
  std::vector<MemoryCurve> memory;   // by device; empty if nothing is known
};

}  // namespace dprof::analyzer
