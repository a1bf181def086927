// SPDX-License-Identifier: Apache-2.0
// The whole analysis of a run: digests each rank, then merges. The report and the timeline both
// take their figures from here, so each is computed in one place.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/align/clock_map.h"
#include "analyzer/breakdown/matched.h"
#include "analyzer/digest/all.h"
#include "analyzer/digest/digest.h"
#include "analyzer/digest/gpu_row_counts.h"
#include "analyzer/replay/what_if.h"
#include "analyzer/report/first_look.h"
#include "analyzer/report/rank.h"
#include "analyzer/report/report.h"
#include "analyzer/run/run.h"
#include "analyzer/vocabulary/progress.h"
#include "base/result.h"

namespace dprof::analyzer {

// Returns one digest per trace, in the order of the traces, like digest_all().
using DigestSource = std::function<Result<std::vector<Result<RankDigest>>>(
    std::span<const TraceFile> traces, bool cache, const Progress& progress)>;

struct AnalysisOptions {
  std::optional<std::pair<int64_t, int64_t>> steps;  // half-open; nullopt = all
  std::vector<int> ranks;                            // empty = all
  RowFilter rows = RowFilter::kAll;                  // of gpu_rows only
  bool cache = false;                                // use and keep digests (digest/cache.h)
  bool pieces = true;  // fill what only drawing needs: pieces, collectives, messages, memory curves
  std::vector<Change> what_if = {};  // one what-if question: all changes apply together
  size_t names =
      0;  // ranks whose events are summed by name for report.names; their lanes are loaded
  bool model = false;         // keep the model for further what-if questions
  DigestSource digests = {};  // empty: digest_all
  // Of runs with more, what is read now and then is put into paged memory.
  size_t calls_in_memory = kMostCallsInMemory;
  FirstLookTaken first_look = {};  // is told what there is before the run is replayed
};

struct Analysis {
  Report report;
  std::vector<RankAnalysis> ranks;  // in the order of run.traces (those selected)
  RankClocks clocks;                // in the same order
  std::vector<MatchedCollective> collectives;
  std::vector<MatchedMessage> messages;      // by their begin
  std::shared_ptr<const WhatIfModel> model;  // nullptr: not asked for, or nothing to replay
  bool damaged = false;  // run.damaged, or a trace turned out to be unreadable: exit code 3
};

Result<Analysis> analyze(const Run& run, const AnalysisOptions& options = {},
                         const Progress& progress = {});

}  // namespace dprof::analyzer
