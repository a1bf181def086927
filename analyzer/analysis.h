// SPDX-License-Identifier: Apache-2.0
// The whole analysis of a run: digest each rank, then merge. What the report prints and what the
// timeline draws come from here, so that a number is computed in one place.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/align/clock_map.h"
#include "analyzer/breakdown/matched.h"
#include "analyzer/digest/digest.h"
#include "analyzer/digest/gpu_row_counts.h"
#include "analyzer/replay/what_if.h"
#include "analyzer/report/rank.h"
#include "analyzer/report/report.h"
#include "analyzer/run/run.h"
#include "analyzer/vocabulary/progress.h"
#include "base/result.h"

namespace dprof::analyzer {

// Gives a digest for each trace, in their order, as digest_all() does.
using DigestSource = std::function<Result<std::vector<Result<RankDigest>>>(
    std::span<const TraceFile> traces, bool cache, const Progress& progress)>;

struct AnalysisOptions {
  std::optional<std::pair<int64_t, int64_t>> steps;  // half-open; nullopt = all
  std::vector<int> ranks;                            // empty = all
  RowFilter rows = RowFilter::kAll;                  // of gpu_rows only
  bool cache = false;                                // use and keep digests (digest/cache.h)
  bool pieces = true;  // fill what is only for drawing: pieces, collectives, messages,
                       // curves of memory
  std::vector<Change> what_if = {};  // one question: all of them at once
  size_t names =
      0;  // of how many ranks events are summed up by name: report.names, lanes are loaded
  bool model = false;         // keep what further questions are put to
  DigestSource digests = {};  // empty: digest_all
};

struct Analysis {
  Report report;
  std::vector<RankAnalysis> ranks;  // in the order of run.traces (those selected)
  RankClocks clocks;                // in that order, too
  std::vector<MatchedCollective> collectives;
  std::vector<MatchedMessage> messages;      // by their begin
  std::shared_ptr<const WhatIfModel> model;  // nullptr: not asked for, or nothing to replay
  bool damaged = false;  // run.damaged, or a trace proved unreadable while it was read: exit code 3
};

Result<Analysis> analyze(const Run& run, const AnalysisOptions& options = {},
                         const Progress& progress = {});

}  // namespace dprof::analyzer
