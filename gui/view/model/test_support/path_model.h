// SPDX-License-Identifier: Apache-2.0
// A run that supports what-if questions: three ranks meet once in each of 14 steps of about 30 ms.
// Rank 1 works longer than the others, except in step 8, where rank 2 is last.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "analyzer/replay/test_support/job.h"
#include "gui/view/model/model.h"

namespace dprof::view::test {

inline constexpr int64_t kJobMs = kNsPerMs;
inline constexpr int64_t kJobSteps = 14;
inline constexpr int64_t kLongStep = 8;

// `accepted`: whether the replay is trustworthy.
inline std::shared_ptr<const Model> path_model(bool accepted = true) {
  analyzer::Job job(3);
  job.group({0, 1, 2});
  analyzer::Run run{.name = "job"};
  run.paths = {"runs/my job"};
  analyzer::Analysis analysis;
  for (int rank = 0; rank < 3; ++rank) {
    analysis.ranks.push_back({.rank = rank});
    run.traces.push_back({.rank = rank, .host = "node-a"});
  }
  int64_t now = 0;
  for (int64_t step = 0; step < kJobSteps; ++step) {
    const bool is_long = step == kLongStep;
    const int64_t work[] = {20 * kJobMs, 26 * kJobMs, is_long ? 40 * kJobMs : 20 * kJobMs};
    const int64_t last = std::max(work[1], work[2]);
    const int64_t length = last + 4 * kJobMs;
    job.step_begins();
    for (int rank = 0; rank < 3; ++rank) {
      job.work(rank, work[rank]);
      analyzer::RankAnalysis& of = analysis.ranks[static_cast<size_t>(rank)];
      of.steps.push_back({step, {TraceNs{now}, TraceNs{now + length}}});
      of.pieces.push_back({{TraceNs{now}, TraceNs{now + work[rank]}},
                           analyzer::Category::kForward,
                           analyzer::Category::kForward});
      of.pieces.push_back({{TraceNs{now + last}, TraceNs{now + length}},
                           analyzer::Category::kExposedTransfer,
                           analyzer::Category::kExposedTransfer});
    }
    job.meet(0, 4 * kJobMs);
    now += length;
  }
  auto asked = std::make_shared<const analyzer::WhatIfModel>(job.model(accepted));
  analysis.report.run = {.name = "job", .ranks = 3, .hosts = 1};
  analyzer::Replay replay;
  replay.accepted = accepted;
  if (!accepted) replay.refused = "it misses the held-out steps by 12 %";
  if (accepted) replay.whatif = asked->best(6);
  analysis.report.replay = std::move(replay);
  analysis.model = std::move(asked);
  return std::make_shared<const Model>(build_model(std::move(run), std::move(analysis), {}));
}

}  // namespace dprof::view::test
