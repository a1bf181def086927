// SPDX-License-Identifier: Apache-2.0
// One finding in detail: how it was decided and from which numbers, its cost and certainty, where
// to see it, what would refute it, and which causes were ruled out.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyzer/render/text.h"
#include "analyzer/report/rank.h"
#include "analyzer/report/report.h"
#include "analyzer/run/run.h"
#include "base/result.h"

namespace dprof::analyzer {

// The sources of evidence; both can be empty, which shortens the explanation.
struct EvidenceSources {
  std::span<const TraceFile> traces = {};
  std::span<const RankAnalysis> ranks = {};
};

struct ExplainedPart {
  std::string title;                            // "HOW IT WAS DECIDED"
  std::vector<std::string> points;              // a sentence each
  std::vector<std::vector<std::string>> table;  // the first row has the titles; may be empty
  std::vector<std::string> commands;            // for a shell
};

struct Explanation {
  size_t number = 0;  // of the report's findings, from 1
  size_t of = 0;
  std::string title;
  std::string about;  // "balance.straggler · critical · dataloader · confidence 0.98"
  std::string detail;
  std::string advice;
  std::vector<ExplainedPart> parts;  // only non-empty ones
};

// `number` as in the text report, from 1. An unknown number is a usage error that lists the valid
// ones.
Result<Explanation> explain(const Report& report, int64_t number,
                            const EvidenceSources& sources = {});

[[nodiscard]] std::string render_text(const Explanation& explanation,
                                      const TextOptions& options = {});
[[nodiscard]] std::string render_markdown(const Explanation& explanation);

}  // namespace dprof::analyzer
