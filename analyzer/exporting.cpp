// SPDX-License-Identifier: Apache-2.0
#include "analyzer/exporting.h"

#include <fmt/format.h>

#include "analyzer/analysis.h"
#include "analyzer/render/layout.h"
#include "base/format.h"

namespace dprof::analyzer {

Result<Exported> export_analysed(const Run& run, const ExportOptions& options,
                                 const std::filesystem::path& out, const Progress& progress) {
  if (const Status possible = can_export(options.format); !possible.ok())
    return fail(possible.error());
  Analysis analysis;
  if (needs_analysis(options.format) || options.steps) {
    AnalysisOptions all;
    all.cache = true;
    Result<Analysis> made = analyze(run, all, progress);
    if (!made.ok()) return fail(made.error());
    analysis = *std::move(made);
  }
  ExportFindings found{.ranks = analysis.ranks,
                       .clocks = &analysis.clocks,
                       .collectives = analysis.collectives,
                       .messages = analysis.messages,
                       .findings = {}};
  if (analysis.report.findings) found.findings = *analysis.report.findings;
  Result<ExportSummary> summary = export_run(run, found, options, out, progress);
  if (!summary.ok()) return fail(summary.error());
  const bool damaged = run.damaged || analysis.damaged || !summary->unreadable.empty();
  return Exported{*std::move(summary), damaged};
}

std::vector<std::string> describe_export(const ExportSummary& summary,
                                         const std::filesystem::path& out) {
  std::vector<std::string> lines = {fmt::format(
      "{}: {}, {}", out.string(), plural(static_cast<int64_t>(summary.files.size()), "file"),
      plural(summary.events, "row"))};
  for (const ExportLeftOut& left : summary.left_out)
    lines.push_back(fmt::format("not written: {} {}", format_count(left.count), left.what));
  for (const std::string& what : summary.unreadable)
    lines.push_back(fmt::format("cannot be read: {}", what));
  return lines;
}

}  // namespace dprof::analyzer
